import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { byTick } from '../os/by-tick.ts'
import type { FunctionModel } from '../template/assembly.ts'

/** What the front end sees of a failed invocation. */
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

/** One environment of a function: a thread that has loaded the bundle once and may serve several requests at once. */
export interface HostEnvironment {
  /** requests under way */
  readonly busy: number
  /** no new requests: it ends with the last one under way */
  readonly retired: boolean
  /** @throws InvocationFault */
  invoke(event: unknown): Promise<unknown>
  close(): Promise<unknown>
}

export interface EnvironmentOptions {
  model: FunctionModel
  variables: Readonly<Record<string, string>>
  /** seconds that a request may take */
  timeout: number
  /** a line that the function prints */
  onLine: (line: string) => void
  /** told whenever there is room for another request, and when the environment has ended */
  onChange: () => void
}

/** What an environment is given: events of one turn together, for a message costs as much as what is done with it. */
export interface Invocation {
  id: string
  event: unknown
  /** epoch milliseconds */
  deadline: number
}

/** What an environment says of an invocation that has ended; of those of one turn together. */
export interface Settled {
  id: string
  result?: unknown
  /** what was thrown: the name of the error, and what it says */
  error?: { type: string; message: string }
}

interface Pending {
  resolve(result: unknown): void
  reject(error: Error): void
}

/**
 * Most that a thread has for what is young, MB. Left to itself it takes what the machine allows, 130 MB and more, most of
 * them garbage; with less it is swept so often that what lives for one request counts as old, at the cost of time.
 * The flag of `npm start` goes further down, for the host itself as well; this holds where tests and drills start one.
 */
const YOUNG_MB = 48

export function startEnvironment(options: EnvironmentOptions): HostEnvironment {
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
  worker.on('message', (all: Settled[]) => {
    for (const { id, result, error } of all) {
      const one = settled(id)
      if (error === undefined) one?.resolve(result)
      else one?.reject(new InvocationFault(error.message, { type: error.type }))
    }
  })
  const post = byTick<Invocation>(all => worker.postMessage(all))
  // anything can be thrown
  worker.on('error', (error: unknown) => fail(error instanceof Error ? error.message : String(error)))
  worker.on('exit', () => {
    fail('the environment ended')
    onChange()
  })

  // a request that hangs may hang others, too: where it timed out nothing new begins
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
