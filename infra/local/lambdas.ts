import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { FunctionModel } from './assembly.ts'

/** Runs the functions of the template, each environment a thread with an environment of its own. */
export interface Lambdas {
  /** @throws InvocationFault */
  invoke(functionName: string, event: unknown): Promise<unknown>
  /** an invocation that nobody waits for, repeated twice when it fails, as AWS does */
  start(functionName: string, event: unknown): void
  has(functionName: string): boolean
  /** waits for invocations under way, then ends all environments */
  close(): Promise<void>
}

/** What the front end sees of a failed invocation. */
export class InvocationFault extends Error {
  readonly timedOut: boolean
  constructor(message: string, timedOut: boolean) {
    super(message)
    this.timedOut = timedOut
  }
}

export interface LambdaOptions {
  functions: readonly FunctionModel[]
  /** variables that the host adds for every function: endpoints, credentials, region */
  environment: Readonly<Record<string, string>>
  /** environments that one function may have at once; further invocations wait */
  concurrency: number
  /** seconds instead of the template's, by folder */
  timeouts?: Readonly<Record<string, number>>
  /** lines that a function prints */
  onLine: (folder: string, line: string) => void
}

interface Thread {
  worker: Worker
  /** settles the invocation in hand */
  settle?: (outcome: { result?: unknown; error?: Error }) => void
}

interface Pool {
  model: FunctionModel
  idle: Thread[]
  all: Set<Thread>
  waiting: ((thread: Thread) => void)[]
}

const ASYNC_TRIES = 3

export function startLambdas({
  functions,
  environment,
  concurrency,
  timeouts = {},
  onLine,
}: LambdaOptions): Lambdas {
  const pools = new Map(
    functions.map(model => [model.name, { model, idle: [], all: new Set(), waiting: [] } as Pool]),
  )
  const pending = new Set<Promise<unknown>>()
  let invocations = 0

  function spawn(pool: Pool): Thread {
    const { model } = pool
    const worker = new Worker(new URL('./lambda-thread.ts', import.meta.url), {
      env: {
        ...environment,
        ...model.environment,
        AWS_LAMBDA_FUNCTION_NAME: model.name,
        ...overridden(environment),
      },
      workerData: { code: model.code, handler: model.handler, functionName: model.name },
      stdout: true,
      stderr: true,
    })
    const thread: Thread = { worker }
    pool.all.add(thread)
    for (const stream of [worker.stdout, worker.stderr]) readLines(stream, line => onLine(model.folder, line))
    worker.on('message', ({ result, error }: { result?: unknown; error?: string }) =>
      thread.settle?.(error === undefined ? { result } : { error: new InvocationFault(error, false) }),
    )
    worker.on('error', error => thread.settle?.({ error: new InvocationFault(error.message, false) }))
    worker.on('exit', () => {
      pool.all.delete(thread)
      pool.idle = pool.idle.filter(one => one !== thread)
      thread.settle?.({ error: new InvocationFault('the environment ended', false) })
    })
    return thread
  }

  function take(pool: Pool): Promise<Thread> | Thread {
    const idle = pool.idle.pop()
    if (idle) return idle
    if (pool.all.size < concurrency) return spawn(pool)
    return new Promise(resolve => pool.waiting.push(resolve))
  }

  function giveBack(pool: Pool, thread: Thread): void {
    delete thread.settle
    const next = pool.waiting.shift()
    if (!pool.all.has(thread)) {
      if (next) next(spawn(pool))
      return
    }
    if (next) next(thread)
    else pool.idle.push(thread)
  }

  async function invoke(functionName: string, event: unknown): Promise<unknown> {
    const pool = pools.get(functionName)
    if (!pool) throw new InvocationFault(`there is no function ${functionName}`, false)
    const thread = await take(pool)
    const limit = (timeouts[pool.model.folder] ?? pool.model.timeoutSeconds) * 1000
    const work = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        pool.all.delete(thread)
        thread.settle?.({ error: new InvocationFault(`Task timed out after ${limit / 1000} seconds`, true) })
        void thread.worker.terminate()
      }, limit)
      thread.settle = ({ result, error }) => {
        clearTimeout(timer)
        if (error) reject(error)
        else resolve(result)
      }
      invocations += 1
      thread.worker.postMessage({
        id: invocations,
        event,
        deadline: Date.now() + limit,
        requestId: randomUUID(),
      })
    })
    try {
      return await tracked(work)
    } finally {
      giveBack(pool, thread)
    }
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    )
    pending.add(settled)
    void settled.then(() => pending.delete(settled))
    return work
  }

  async function insist(functionName: string, event: unknown): Promise<void> {
    for (let tries = 1; tries <= ASYNC_TRIES; tries++) {
      try {
        await invoke(functionName, event)
        return
      } catch (error) {
        onLine(
          pools.get(functionName)?.model.folder ?? functionName,
          `async invocation failed: ${(error as Error).message}`,
        )
      }
    }
  }

  return {
    invoke,
    start: (functionName, event) => {
      void tracked(insist(functionName, event))
    },
    has: functionName => pools.has(functionName),
    close: async () => {
      while (pending.size > 0) await Promise.all(pending)
      await Promise.all(
        [...pools.values()].flatMap(pool => [...pool.all].map(thread => thread.worker.terminate())),
      )
    },
  }
}

/** Variables of the host that win over the template's: only the cluster's name, which is chosen at the start. */
const overridden = ({ CLUSTER_NAME }: Readonly<Record<string, string>>): Record<string, string> =>
  CLUSTER_NAME === undefined ? {} : { CLUSTER_NAME }

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
