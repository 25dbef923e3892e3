import { randomUUID } from 'node:crypto'
import type { TaskState } from './definition.ts'
import { recordStateLine, type StateLogLine, type StatesDependencies } from './dependencies.ts'
import { type ExpressionVariables, evaluateTemplate } from './expressions.ts'
import { requireWithinLimit, StateFault } from './fault.ts'
import type { ExecutionPlace } from './store.ts'

/** The failure of a function: the name and message of its error. */
export class FunctionFault extends Error {
  readonly type: string
  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

/** Deadlines of a task, each with the error with which the task then fails. */
type Limits = readonly (readonly [moment: number, error: string])[]

/** Invokes a function. With a callback token, the result is the answer to the token. */
export async function runTaskState(
  dependencies: StatesDependencies,
  line: StateLogLine,
  task: TaskState,
  place: ExecutionPlace,
  names: ExpressionVariables,
): Promise<unknown> {
  const limits: Limits =
    task.TimeoutSeconds === undefined ? [] : [[place.tried + 1000 * task.TimeoutSeconds, 'States.Timeout']]
  const resource = task.Resource.endsWith('.waitForTaskToken') ? 'invoke.waitForTaskToken' : 'invoke'
  const about = { resourceType: 'lambda', resource }
  const { arn } = line.execution
  try {
    const work = resource === 'invoke' ? invoked : answered
    const result = requireWithinLimit(
      'the result',
      await work(dependencies, line, task, place, names, limits),
    )
    const details = { taskSucceededEventDetails: { ...about, output: JSON.stringify(result) } }
    recordStateLine(dependencies, arn, 'TaskSucceeded', details)
    return result
  } catch (error) {
    if (error instanceof StateFault && !line.signal.aborted) {
      const details = { taskFailedEventDetails: { ...about, error: error.error, cause: error.reason } }
      recordStateLine(dependencies, arn, 'TaskFailed', details)
    }
    throw error
  }
}

type Work = (
  dependencies: StatesDependencies,
  line: StateLogLine,
  task: TaskState,
  place: ExecutionPlace,
  names: ExpressionVariables,
  limits: Limits,
) => Promise<unknown>

const invoked: Work = async (dependencies, line, task, _, names, limits) => {
  const given = requireWithinLimit(
    'the arguments',
    await evaluateTemplate(task.Arguments, names),
  ) as TaskState['Arguments']
  const parameters = JSON.stringify(given)
  recordStateLine(dependencies, line.execution.arn, 'TaskScheduled', {
    taskScheduledEventDetails: { resourceType: 'lambda', resource: 'invoke', region: 'local', parameters },
  })
  const call = dependencies.invoke(given.FunctionName, given.Payload).catch((error: unknown) => {
    throw faultOf(error)
  })
  const Payload = (await inTime(dependencies, line.signal, call, limits)) ?? null
  return { ExecutedVersion: '$LATEST', Payload, StatusCode: 200 }
}

function faultOf(error: unknown): StateFault {
  if (!(error instanceof FunctionFault)) return new StateFault('Lambda.Unknown', String(error))
  const cause = { errorType: error.type, errorMessage: error.message }
  return new StateFault(error.type, JSON.stringify(cause))
}

/** Returns the result of some work, unless a deadline comes first. */
async function inTime<T>(
  { time }: StatesDependencies,
  outer: AbortSignal,
  work: Promise<T>,
  limits: Limits,
): Promise<T> {
  const done = new AbortController()
  const signal = AbortSignal.any([outer, done.signal])
  const ends = limits.map(async ([moment, error]) => {
    await time.until(moment, signal)
    throw new StateFault(error, 'the task took too long')
  })
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    if (signal.aborted) reject(signal.reason)
  })
  try {
    return await Promise.race([work, stopped, ...ends])
  } finally {
    done.abort()
    // a promise that loses the race may reject, and no other code handles its error
    for (const one of [work, stopped, ...ends]) one.catch(() => undefined)
  }
}

/** Creates a token that contains its execution and cannot be guessed. */
const newToken = ({ execution }: StateLogLine): string =>
  Buffer.from(JSON.stringify([execution.arn, randomUUID()])).toString('base64')

const answered: Work = async (dependencies, line, task, place, names, limits) => {
  const { store } = dependencies
  const { arn } = line.execution
  const token = place.token ?? newToken(line)
  if (place.token === undefined) {
    store.together(() => {
      store.putTask(token, { execution: arn })
      store.putPlace(arn, { ...place, token })
    })
  }
  if (!place.handed) {
    const { context, ...states } = names['states'] as { context: object }
    const withToken = { ...names, states: { ...states, context: { ...context, Task: { Token: token } } } }
    await invoked(dependencies, line, task, place, withToken, limits)
    store.putPlace(arn, { ...place, token, handed: true })
  }
  for (;;) {
    const { answer } = store.task(token) ?? {}
    if (answer !== undefined) return answer.output
    const news = new Promise<void>(resolve => dependencies.waiting.set(token, resolve))
    await inTime(dependencies, line.signal, news, limits).finally(() => dependencies.waiting.delete(token))
  }
}
