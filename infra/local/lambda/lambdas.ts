import { setTimeout } from 'node:timers/promises'
import type { FunctionModel } from '../template/assembly.ts'
import { type CountMetric, metricOfQueue, metricsOfFunction } from '../template/counts.ts'
import { createWorkActivity, type WorkActivity } from './activity.ts'
import { InvocationFault, startLambdaProcess } from './environment.ts'
import { createLambdaProcessPool, type LambdaProcessPool, type PoolCapacity } from './pool.ts'

/** Runs the template's functions, each environment in a thread of its own. */
export interface LocalLambdas {
  /** @throws InvocationFault */
  invoke(functionName: string, event: unknown): Promise<unknown>
  /** invokes asynchronously, with two retries, as AWS does */
  start(functionName: string, event: unknown): void
  has(functionName: string): boolean
  /** activity of all invocations */
  activity: WorkActivity
  /** writes an error that occurred around a function to the function's log */
  logError(functionName: string, text: string): void
  /** waits a while for running invocations, then ends all environments */
  close(): Promise<void>
}

export interface LocalLambdasOptions {
  functions: readonly FunctionModel[]
  /**
   * variables that the host adds to every function, read whenever an environment starts: endpoints, credentials,
   * region
   */
  environment: () => Readonly<Record<string, string>>
  capacity: PoolCapacity
  /** timeouts in seconds that replace the template's, by folder */
  timeouts?: Readonly<Record<string, number>>
  /** receives the lines that a function prints */
  onLine: (folder: string, line: string) => void
  counting?: InvocationCounting
}

/** Receives the counts that AWS would keep of invocations. */
export interface InvocationCounting {
  count: CountMetric
  /** reserved concurrency by folder, above which requests are rejected; absent: requests wait */
  atOnce?: Readonly<Record<string, number>>
  /** takes an event that a function failed to process; @throws if the queue cannot be reached */
  deadLetter?: (queue: string) => void
}

const ASYNC_TRIES = 3
const ENVIRONMENT_IDLE_MS = 60_000
/**
 * Milliseconds to wait for running requests at closing, longer than requests take. The host ends a worker that
 * takes longer, as Lambda does at its timeout.
 */
const TIMEOUT_GRACE_MS = 3000

export function startLocalLambdas(options: LocalLambdasOptions): LocalLambdas {
  const pools = new Map(options.functions.map(model => [model.name, poolFor(model, options)]))
  const pending = new Set<Promise<unknown>>()
  const activity = createWorkActivity()
  let closing = false
  const trimming = setInterval(() => {
    for (const { pool } of pools.values()) pool.trim()
  }, ENVIRONMENT_IDLE_MS)
  trimming.unref()

  const invoke = async (functionName: string, event: unknown): Promise<unknown> => {
    const found = pools.get(functionName)
    if (!found) throw new Error(`there is no function ${functionName}`)
    return tracked(activity.during(counted(found, functionName, event, options.counting)))
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

  const complain = (functionName: string, text: string): void =>
    options.onLine(pools.get(functionName)?.folder ?? functionName, text)

  async function insist(functionName: string, event: unknown): Promise<void> {
    for (let tries = 1; tries <= ASYNC_TRIES && !closing; tries++) {
      try {
        await invoke(functionName, event)
        return
      } catch (error) {
        complain(functionName, `async invocation failed: ${(error as Error).message}`)
      }
    }
    if (!closing) keepEvent(functionName, pools.get(functionName)?.deadLetters, options.counting)
  }

  async function ended(): Promise<void> {
    while (pending.size > 0) await Promise.all(pending)
  }

  return {
    invoke,
    start: (functionName, event) => {
      void tracked(insist(functionName, event))
    },
    has: functionName => pools.has(functionName),
    activity,
    logError: complain,
    close: async () => {
      clearInterval(trimming)
      await Promise.race([ended(), setTimeout(TIMEOUT_GRACE_MS, undefined, { ref: false })])
      closing = true
      await Promise.all([...pools.values()].map(({ pool }) => pool.close()))
    },
  }
}

/** Invokes a function and counts the invocation as AWS does. @throws InvocationFault */
async function counted(
  found: Running,
  functionName: string,
  event: unknown,
  { count, atOnce = {} }: InvocationCounting = NOBODY,
): Promise<unknown> {
  if (found.busy >= (atOnce[found.folder] ?? Infinity)) {
    count(metricsOfFunction('Throttles', functionName))
    throw new InvocationFault('Rate Exceeded.', { type: 'TooManyRequestsException' })
  }
  count(metricsOfFunction('Invocations', functionName))
  found.busy += 1
  try {
    return await found.pool.invoke(event)
  } catch (error) {
    count(metricsOfFunction('Errors', functionName))
    throw error
  } finally {
    found.busy -= 1
  }
}

/**
 * Puts an event that a function failed to process into the function's dead-letter queue, if it has such a
 * queue.
 */
function keepEvent(
  functionName: string,
  queue: string | undefined,
  { count, deadLetter = () => undefined }: InvocationCounting = NOBODY,
): void {
  if (queue === undefined) return
  try {
    deadLetter(queue)
    count(metricOfQueue(queue))
  } catch {
    count(metricsOfFunction('DeadLetterErrors', functionName))
  }
}

const NOBODY: InvocationCounting = { count: () => undefined }

interface Running {
  folder: string
  deadLetters: string | undefined
  pool: LambdaProcessPool
  /** running requests */
  busy: number
}

function poolFor(
  model: FunctionModel,
  { environment, capacity, timeouts = {}, onLine }: LocalLambdasOptions,
): Running {
  const { folder, deadLetters } = model
  const pool = createLambdaProcessPool(
    onChange =>
      startLambdaProcess({
        model,
        variables: { ...environment(), ...model.environment, AWS_LAMBDA_FUNCTION_NAME: model.name },
        timeout: timeouts[folder] ?? model.timeoutSeconds,
        onLine: line => onLine(folder, line),
        onChange,
      }),
    capacity,
  )
  return { folder, deadLetters, pool, busy: 0 }
}
