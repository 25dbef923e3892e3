import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { batchItemsByTick } from '../os/by-tick.ts'
import type { FunctionModel } from '../template/assembly.ts'

/** A failed invocation, as the front end sees it. */
export class InvocationFault extends Error {
  readonly timedOut: boolean
  /** name of the error that the function threw */
  readonly type: string
  constructor(message: string, { timedOut = false, type = 'Error' } = {}) {
    super(message)
    this.timedOut = timedOut
    this.type = type
  }
}

/** One environment of a function: a thread that loads the bundle once and may serve several requests at once. */
export interface LambdaProcess {
  /** running requests */
  readonly busy: number
  /** true: the process takes no new requests, and ends with its last request */
  readonly retired: boolean
  /** @throws InvocationFault */
  invoke(event: unknown): Promise<unknown>
  close(): Promise<unknown>
}

export interface LambdaProcessOptions {
  model: FunctionModel
  variables: Readonly<Record<string, string>>
  /** timeout of a request in seconds */
  timeout: number
  /** receives the lines that the function prints */
  onLine: (line: string) => void
  /** called when the environment has room for another request, and when it has ended */
  onChange: () => void
}

/**
 * An event that an environment processes. Events of one turn of the event loop are sent together, because a
 * message costs as much as the processing of an event.
 */
export interface LambdaInvocation {
  id: string
  event: unknown
  /** epoch milliseconds */
  deadline: number
}

/** The result of an invocation. Results of one turn of the event loop are sent together. */
export interface LambdaInvocationResult {
  id: string
  result?: unknown
  /** name and message of the thrown error */
  error?: { type: string; message: string }
}

interface Pending {
  resolve(result: unknown): void
  reject(error: Error): void
}

/**
 * Maximum megabytes of a thread's young generation. Without a limit V8 takes 130 MB and more, mostly garbage.
 * A much smaller limit promotes objects that live for one request, which costs time. `npm start` sets an even
 * smaller limit for the whole process; the limit here applies in tests and drills.
 */
const YOUNG_MB = 48

export function startLambdaProcess(options: LambdaProcessOptions): LambdaProcess {
  const { model, variables, timeout, onLine, onChange } = options
  const worker = new Worker(new URL('./thread.mjs', import.meta.url), {
    env: { ...variables },
    workerData: { code: model.code, handler: model.handler, functionName: model.name },
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    stdout: true,
    stderr: true,
  })
  const pending = new Map<string, Pending>()
  let retired = false
  for (const stream of [worker.stdout, worker.stderr]) readLines(stream, onLine)

  const settled = (id: string): Pending | undefined => {
    const one = pending.get(id)
    pending.delete(id)
    if (retired && pending.size === 0) void worker.terminate()
    onChange()
    return one
  }
  const fail = (message: string): void => {
    retired = true
    for (const id of [...pending.keys()])
      settled(id)?.reject(new InvocationFault(message, { type: 'Runtime.ExitError' }))
  }
  worker.on('message', (all: LambdaInvocationResult[]) => {
    for (const { id, result, error } of all) {
      const one = settled(id)
      if (error === undefined) one?.resolve(result)
      else one?.reject(new InvocationFault(error.message, { type: error.type }))
    }
  })
  const post = batchItemsByTick<LambdaInvocation>(all => worker.postMessage(all))
  // JavaScript allows to throw any value
  worker.on('error', (error: unknown) => fail(error instanceof Error ? error.message : String(error)))
  worker.on('exit', () => {
    fail('the environment ended')
    onChange()
  })

  // a hanging request may block other requests too, so an environment takes no new requests after a timeout
  const expire = (id: string): void => {
    retired = true
    settled(id)?.reject(new InvocationFault(`Task timed out after ${timeout} seconds`, { timedOut: true }))
  }

  return {
    get busy() {
      return pending.size
    },
    get retired() {
      return retired
    },
    invoke: event =>
      new Promise((resolve, reject) => {
        const id = randomUUID()
        const timer = setTimeout(() => expire(id), timeout * 1000)
        pending.set(id, {
          resolve: result => {
            clearTimeout(timer)
            resolve(result)
          },
          reject: error => {
            clearTimeout(timer)
            reject(error)
          },
        })
        post({ id, event, deadline: Date.now() + timeout * 1000 })
      }),
    close: () => worker.terminate(),
  }
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
