import { setTimeout } from 'node:timers/promises'
import type { FunctionModel } from '../template/assembly.ts'
import { createWorkActivity, type WorkActivity } from './activity.ts'
import { startLambdaProcess } from './environment.ts'
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
  observer?: HostObserver
}

/** Observes functions and front ends. Tests count by an observer as AWS does. */
export interface HostObserver {
  /** makes an invocation, or rejects the invocation */
  around(model: FunctionModel, invoke: () => Promise<unknown>): Promise<unknown>
  /** called for an asynchronous event after its last failed try */
  onLost(model: FunctionModel): void
  /** called for each 5xx answer, with its sender: the function or the front end itself */
  onServerError(front: 'clients' | 'link', by: 'function' | 'front'): void
  /** called for each execution of a state machine that did not succeed */
  onFailedExecution(): void
}

const ASYNC_TRIES = 3
const ENVIRONMENT_IDLE_MS = 60_000
/**
 * Milliseconds to wait for running requests at closing, longer than requests take. The host ends a worker that
 * takes longer, as Lambda does at its timeout.
 */
const TIMEOUT_GRACE_MS = 3000

export function startLocalLambdas(options: LocalLambdasOptions): LocalLambdas {
  const { observer } = options
  const pools = new Map(
    options.functions.map(model => [model.name, { model, pool: poolFor(model, options) }] as const),
  )
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
    const work = () => found.pool.invoke(event)
    return tracked(activity.during(observer ? observer.around(found.model, work) : work()))
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
    options.onLine(pools.get(functionName)?.model.folder ?? functionName, text)

  async function insist(functionName: string, event: unknown): Promise<void> {
    for (let tries = 1; tries <= ASYNC_TRIES && !closing; tries++) {
      try {
        await invoke(functionName, event)
        return
      } catch (error) {
        complain(functionName, `async invocation failed: ${(error as Error).message}`)
      }
    }
    const { model } = pools.get(functionName) ?? {}
    if (!closing && model) observer?.onLost(model)
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

function poolFor(
  model: FunctionModel,
  { environment, capacity, timeouts = {}, onLine }: LocalLambdasOptions,
): LambdaProcessPool {
  const { folder } = model
  return createLambdaProcessPool(
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
}
