import { parseJson } from '../../../shared/values/json.ts'
import { awsError } from '../provider/wire/errors.ts'
import { type MachineDefinition, parseMachineDefinition } from './definition.ts'
import { recordStateLine, type StatesClock, type StatesDependencies } from './dependencies.ts'
import { requireWithinLimit, StateFault } from './fault.ts'
import { runStateLine } from './line.ts'
import type { StateStore, StoredExecution, WaitingTask } from './store.ts'

/** Creates an error of the Step Functions service. */
const refusal = (code: string, message: string) => awsError(400, code, message)

export interface StateMachinesOptions {
  store: StateStore
  time: StatesClock
  /** definitions by ARN */
  definitions: ReadonlyMap<string, unknown>
  invoke: StatesDependencies['invoke']
  /** maximum number of events in the history of an execution; default: AWS's limit */
  mostEvents?: number
  /** called for each execution that did not succeed */
  onFailure?: () => void
}

/** The state machines of a host, and their executions. */
export interface StateMachines {
  store: StateStore
  /** ARNs */
  all: readonly string[]
  /** creation time in epoch milliseconds */
  created: number
  /**
   * Starts an execution. A start with the name and input of a running execution returns this execution.
   * @throws AwsError
   */
  start(machine: string, name: string, input: string): StoredExecution
  /** @throws AwsError */
  stop(execution: string, error: string | null, cause: string | null): StoredExecution
  /** Ends a waiting task. @throws AwsError if no task waits for the token any more */
  answer(token: string, answer: NonNullable<WaitingTask['answer']>): void
  /** stops all executions at their present place, so that the next start resumes them */
  close(): Promise<void>
}

/** The reason why an execution no longer runs. */
type Halt = 'closed' | 'stopped' | 'timed out'

const executionArn = (machine: string, name: string): string =>
  `${machine.replace(':stateMachine:', ':execution:')}:${name}`

type Begun = 'arn' | 'machine' | 'name' | 'definition' | 'input' | 'started'

const begun = (given: Pick<StoredExecution, Begun>): StoredExecution => ({
  ...given,
  status: 'RUNNING',
  stopped: null,
  output: null,
  error: null,
  cause: null,
})

/**
 * Starts the state machines and resumes unfinished executions. @throws Error if a definition is not supported
 */
export function startStateMachines(options: StateMachinesOptions): StateMachines {
  const { store, time, definitions } = options
  for (const definition of definitions.values()) parseMachineDefinition(definition)
  const usual = { mostEvents: 25_000, onFailure: () => undefined }
  const dependencies: StatesDependencies = { ...usual, ...options, waiting: new Map() }
  const running = new Map<string, { halt: (why: Halt) => void; ended: Promise<void> }>()

  function run(execution: StoredExecution): void {
    const { arn } = execution
    const controller = new AbortController()
    const halt = (why: Halt) => controller.abort(new Error(why, { cause: why }))
    const ended = runToEnd(dependencies, execution, controller.signal, halt)
      // the end of the execution could not be stored, so the next start resumes the execution
      .catch(() => undefined)
      .finally(() => running.delete(arn))
    running.set(arn, { halt, ended })
  }
  for (const execution of store.running()) run(execution)

  function taskOf(token: string): WaitingTask {
    const task = store.task(token)
    if (task && task.answer === undefined) return task
    if (!isToken(token)) throw refusal('InvalidToken', 'the token is not from this service')
    throw refusal('TaskTimedOut', 'the execution no longer waits for this task')
  }

  return {
    store,
    all: [...definitions.keys()],
    created: time.now(),
    start: (machine, name, input) => {
      const definition = definitions.get(machine)
      if (definition === undefined)
        throw refusal('StateMachineDoesNotExist', `there is no state machine ${machine}`)
      const arn = executionArn(machine, name)
      const before = store.find(arn)
      if (before?.status === 'RUNNING' && before.input === input) return before
      if (before) throw refusal('ExecutionAlreadyExists', `there is an execution ${arn} already`)
      const text = JSON.stringify(definition)
      const execution = begun({ arn, machine, name, definition: text, input, started: time.now() })
      store.together(() => {
        store.add(execution)
        recordStateLine(dependencies, arn, 'ExecutionStarted', { executionStartedEventDetails: { input } })
      })
      run(execution)
      return execution
    },
    stop: (arn, error, cause) => {
      const execution = store.find(arn)
      if (!execution) throw refusal('ExecutionDoesNotExist', `there is no execution ${arn}`)
      if (execution.status !== 'RUNNING') return execution
      running.get(arn)?.halt('stopped')
      end(dependencies, arn, 'ABORTED', { error, cause })
      return store.find(arn) ?? execution
    },
    answer: (token, answer) => {
      store.putTask(token, { ...taskOf(token), answer })
      dependencies.waiting.get(token)?.()
    },
    close: async () => {
      for (const { halt } of running.values()) halt('closed')
      await Promise.all([...running.values()].map(({ ended }) => ended))
      store.close()
    },
  }
}

const isToken = (token: string): boolean =>
  Array.isArray(parseJson(Buffer.from(token, 'base64').toString('utf8')))

/** Runs an execution from its stored place to its end, and stores the end. */
async function runToEnd(
  dependencies: StatesDependencies,
  execution: StoredExecution,
  signal: AbortSignal,
  halt: (why: Halt) => void,
): Promise<void> {
  const { arn, started } = execution
  const machine = parseMachineDefinition(JSON.parse(execution.definition))
  const late = new AbortController()
  limit(dependencies, machine, started, AbortSignal.any([signal, late.signal]), halt)
  try {
    const input: unknown = JSON.parse(execution.input)
    const output = await runStateLine(dependencies, { execution, signal }, machine, input)
    if (!signal.aborted)
      end(dependencies, arn, 'SUCCEEDED', {
        output: JSON.stringify(requireWithinLimit('the output', output)),
      })
  } catch (error) {
    const why = signal.aborted ? (signal.reason as Error).cause : undefined
    if (why === 'timed out') end(dependencies, arn, 'TIMED_OUT', {})
    else if (why === undefined) end(dependencies, arn, 'FAILED', faultIn(error))
  } finally {
    late.abort()
  }
}

function limit(
  { time }: StatesDependencies,
  { TimeoutSeconds }: MachineDefinition,
  started: number,
  signal: AbortSignal,
  halt: (why: Halt) => void,
): void {
  if (TimeoutSeconds === undefined) return
  time.until(started + 1000 * TimeoutSeconds, signal).then(
    () => halt('timed out'),
    () => undefined, // it ended in time
  )
}

const faultIn = (error: unknown): { error: string; cause: string } =>
  error instanceof StateFault
    ? { error: error.error, cause: error.reason }
    : { error: 'States.Runtime', cause: String(error) }

const ENDS = {
  SUCCEEDED: ['ExecutionSucceeded', 'executionSucceededEventDetails'],
  FAILED: ['ExecutionFailed', 'executionFailedEventDetails'],
  TIMED_OUT: ['ExecutionTimedOut', 'executionTimedOutEventDetails'],
  ABORTED: ['ExecutionAborted', 'executionAbortedEventDetails'],
} as const

function end(
  dependencies: StatesDependencies,
  arn: string,
  status: keyof typeof ENDS,
  how: Partial<Pick<StoredExecution, 'output' | 'error' | 'cause'>>,
): void {
  const [type, member] = ENDS[status]
  const { store, time, onFailure } = dependencies
  const none = { output: null, error: null, cause: null }
  store.together(() => {
    recordStateLine(dependencies, arn, type, { [member]: how })
    store.end(arn, { ...none, ...how, status, stopped: time.now() })
  })
  if (status !== 'SUCCEEDED') onFailure()
}
