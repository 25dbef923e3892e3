import { parentPort, workerData } from 'node:worker_threads'
import type { Settled } from './environment.ts'

/** One environment of a Lambda: loads the bundle once, then serves events, several at once if they come so. */
const { code, handler, functionName } = workerData as { code: string; handler: string; functionName: string }
const [file = '', member = ''] = handler.split('.')

const loaded = import(`file://${code}/${file}.mjs`) as Promise<
  Record<string, (event: unknown, context: unknown) => unknown>
>

interface Invocation {
  id: string
  event: unknown
  deadline: number
}

parentPort?.on('message', ({ id, event, deadline }: Invocation) => {
  const context = {
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: '1024',
    awsRequestId: id,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  }
  const tell = (settled: Settled) => parentPort?.postMessage(settled)
  const answer = (result: unknown) => tell({ id, result })
  const fail = (error: unknown) =>
    tell({
      id,
      error:
        error instanceof Error
          ? { type: error.name, message: error.stack ?? error.message }
          : { type: 'Error', message: String(error) },
    })
  loaded.then(module => module[member]?.(event, context)).then(answer, fail)
})
