import { parentPort, workerData } from 'node:worker_threads'

// One environment of a Lambda: loads the bundle once, then serves events, several at once if they come so. JavaScript,
// because a thread that strips types has loaded the stripper: 10 MB, in each of them.

/** @type {{ code: string, handler: string, functionName: string }} */
const { code, handler, functionName } = workerData
const [file = '', member = ''] = handler.split('.')

/** @type {Promise<Record<string, (event: unknown, context: unknown) => unknown>>} */
const loaded = import(`file://${code}/${file}.mjs`)

/** @param {{ id: string, event: unknown, deadline: number }} invocation */
function serve({ id, event, deadline }) {
  const context = {
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: '1024',
    awsRequestId: id,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  }
  /** @param {import('./environment.ts').Settled} settled */
  const tell = settled => parentPort?.postMessage(settled)
  /** @param {unknown} result */
  const answer = result => tell({ id, result })
  /** @param {unknown} error */
  const fail = error =>
    tell({
      id,
      error:
        error instanceof Error
          ? { type: error.name, message: error.stack ?? error.message }
          : { type: 'Error', message: String(error) },
    })
  loaded.then(module => module[member]?.(event, context)).then(answer, fail)
}

parentPort?.on('message', serve)
