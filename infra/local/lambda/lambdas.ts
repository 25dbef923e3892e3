import { setTimeout } from 'node:timers/promises'
import type { FunctionModel } from '../template/assembly.ts'
import { type Count, ofFunction, ofQueue } from '../template/counts.ts'
import { type Activity, activityOf } from './activity.ts'
import { InvocationFault, startEnvironment } from './environment.ts'
import { type Capacity, type Pool, poolOf } from './pool.ts'

/** Runs the functions of the template, each environment a thread with an environment of its own. */
export interface Lambdas {
  /** @throws InvocationFault */
  invoke(functionName: string, event: unknown): Promise<unknown>
  /** an invocation that nobody waits for, repeated twice when it fails, as AWS does */
  start(functionName: string, event: unknown): void
  has(functionName: string): boolean
  /** of its invocations */
  activity: Activity
  /** writes what went wrong around a function to its log */
  complain(functionName: string, text: string): void
  /** waits a while for invocations under way, then ends all environments */
  close(): Promise<void>
}

export interface LambdaOptions {
  functions: readonly FunctionModel[]
  /** variables that the host adds for every function, asked for whenever an environment starts: endpoints, credentials, region */
  environment: () => Readonly<Record<string, string>>
  capacity: Capacity
  /** seconds instead of the template's, by folder */
  timeouts?: Readonly<Record<string, number>>
  /** lines that a function prints */
  onLine: (folder: string, line: string) => void
  counting?: Counting
}

/** What AWS has around functions, for those who look at what it counts. */
export interface Counting {
  count: Count
  /** requests that a function takes at once, by folder: more are refused. Absent: they wait */
  atOnce?: Readonly<Record<string, number>>
  /** takes an event that a function could not take; @throws where the queue cannot be reached */
  deadLetter?: (queue: string) => void
}

const ASYNC_TRIES = 3
const ENVIRONMENT_IDLE_MS = 60_000
/** Longer than requests take; a worker that outlasts it is ended like a Lambda whose time is up. */
const TIMEOUT_GRACE_MS = 3000

export function startLambdas(options: LambdaOptions): Lambdas {
  const pools = new Map(options.functions.map(model => [model.name, poolFor(model, options)]))
  const pending = new Set<Promise<unknown>>()
  const activity = activityOf()
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
    complain,
    close: async () => {
      clearInterval(trimming)
      await Promise.race([ended(), setTimeout(TIMEOUT_GRACE_MS, undefined, { ref: false })])
      closing = true
      await Promise.all([...pools.values()].map(({ pool }) => pool.close()))
    },
  }
}

/** An invocation, for those who look at what AWS counts of it. @throws InvocationFault */
async function counted(
  found: Running,
  functionName: string,
  event: unknown,
  { count, atOnce = {} }: Counting = NOBODY,
): Promise<unknown> {
  if (found.busy >= (atOnce[found.folder] ?? Infinity)) {
    count(ofFunction('Throttles', functionName))
    throw new InvocationFault('Rate Exceeded.', { type: 'TooManyRequestsException' })
  }
  count(ofFunction('Invocations', functionName))
  found.busy += 1
  try {
    return await found.pool.invoke(event)
  } catch (error) {
    count(ofFunction('Errors', functionName))
    throw error
  } finally {
    found.busy -= 1
  }
}

/** An event that a function could not take, where there is a queue for such. */
function keepEvent(
  functionName: string,
  queue: string | undefined,
  { count, deadLetter = () => undefined }: Counting = NOBODY,
): void {
  if (queue === undefined) return
  try {
    deadLetter(queue)
    count(ofQueue(queue))
  } catch {
    count(ofFunction('DeadLetterErrors', functionName))
  }
}

const NOBODY: Counting = { count: () => undefined }

interface Running {
  folder: string
  deadLetters: string | undefined
  pool: Pool
  /** requests under way */
  busy: number
}

function poolFor(
  model: FunctionModel,
  { environment, capacity, timeouts = {}, onLine }: LambdaOptions,
): Running {
  const { folder, deadLetters } = model
  const pool = poolOf(
    onChange =>
      startEnvironment({
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
