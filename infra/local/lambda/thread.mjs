import { parentPort, workerData } from 'node:worker_threads'

// One environment of a Lambda function. The thread loads the bundle once, then serves events, several at the
// same time. This file is JavaScript, because stripping types would load another 10 MB in each thread.

/** @type {{ code: string, handler: string, functionName: string }} */
const { code, handler, functionName } = workerData
const [file = '', member = ''] = handler.split('.')

/** @type {Promise<Record<string, (event: unknown, context: unknown) => unknown>>} */
const loaded = import(`file://${code}/${file}.mjs`)

/** @param {import('./environment.ts').LambdaInvocation} invocation */
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

/**
 * Does the same as `by-tick.ts`, which this thread does not load.
 * @template T
 * @param {(all: T[]) => void} take
 */
function byTick(take) {
  /** @type {T[]} */
  let waiting = []
  /** @param {T} one */
  return one => {
    if (waiting.push(one) > 1) return
    setImmediate(() => {
      const all = waiting
      waiting = []
      take(all)
    })
  }
}

/** @type {(settled: import('./environment.ts').LambdaInvocationResult) => void} */
const tell = byTick(all => parentPort?.postMessage(all))

parentPort?.on('message', invocations => {
  for (const one of invocations) serve(one)
})
