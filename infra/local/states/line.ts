import type { ChoiceState, MachineDefinition, MachineState } from './definition.ts'
import { recordStateLine, type StateLogLine, type StatesDependencies } from './dependencies.ts'
import { type ExpressionVariables, evaluateTemplate } from './expressions.ts'
import { errorNamesMatch, requireWithinLimit, StateFault } from './fault.ts'
import type { ExecutionPlace } from './store.ts'
import { runTaskState } from './task.ts'

/**
 * Runs the states of an execution from its stored place, or from the first state.
 * @returns its output
 * @throws StateFault, or the signal's reason
 */
export async function runStateLine(
  dependencies: StatesDependencies,
  line: StateLogLine,
  machine: MachineDefinition,
  input: unknown,
): Promise<unknown> {
  const { store } = dependencies
  const begun = store.place(line.execution.arn)
  let place = begun ?? store.together(() => enter(dependencies, line, machine, machine.StartAt, input, {}))
  while (place.result === undefined) place = await step(dependencies, line, machine, place)
  return place.result.value
}

function enter(
  dependencies: StatesDependencies,
  line: StateLogLine,
  machine: MachineDefinition,
  state: string,
  input: unknown,
  variables: ExecutionPlace['variables'],
): ExecutionPlace {
  const now = dependencies.time.now()
  const place: ExecutionPlace = { state, input, variables, entered: now, tried: now, retries: [] }
  const type = `${machine.States[state]?.Type}StateEntered`
  const details = { stateEnteredEventDetails: { name: state, input: JSON.stringify(input) } }
  if (recordStateLine(dependencies, line.execution.arn, type, details) >= dependencies.mostEvents)
    throw new StateFault('States.Runtime', `the execution has reached ${dependencies.mostEvents} events`)
  return keep(dependencies, line, place)
}

function keep(
  dependencies: StatesDependencies,
  { execution }: StateLogLine,
  place: ExecutionPlace,
): ExecutionPlace {
  dependencies.store.putPlace(execution.arn, place)
  return place
}

async function step(
  dependencies: StatesDependencies,
  line: StateLogLine,
  machine: MachineDefinition,
  place: ExecutionPlace,
): Promise<ExecutionPlace> {
  const state = machine.States[place.state]
  if (!state) throw new StateFault('States.Runtime', `there is no state ${place.state}`)
  try {
    line.signal.throwIfAborted()
    const names = namesOf(line, place)
    const {
      result,
      next,
      shaping = shapingOf(state),
    } = await perform(dependencies, line, state, place, names)
    const leaving =
      result === undefined
        ? { names, shown: place.input }
        : { names: withStates(names, { result }), shown: result }
    return await leave(dependencies, line, machine, place, { ...leaving, shaping, next })
  } catch (error) {
    if (line.signal.aborted) throw error
    const fault = error instanceof StateFault ? error : new StateFault('States.Runtime', String(error))
    return recover(dependencies, line, machine, place, state, fault)
  }
}

/** Returns the variables for expressions of a state. */
function namesOf({ execution }: StateLogLine, place: ExecutionPlace): ExpressionVariables {
  const context = {
    Execution: {
      Id: execution.arn,
      Input: JSON.parse(execution.input) as unknown,
      Name: execution.name,
      StartTime: new Date(execution.started).toISOString(),
    },
    StateMachine: { Id: execution.machine, Name: execution.machine.split(':').at(-1) },
    State: {
      Name: place.state,
      EnteredTime: new Date(place.entered).toISOString(),
      RetryCount: place.retries.reduce((sum, count) => sum + (count ?? 0), 0),
    },
  }
  return { ...place.variables, states: { input: place.input, context } }
}

const withStates = (names: ExpressionVariables, more: object): ExpressionVariables => ({
  ...names,
  states: { ...(names['states'] as object), ...more },
})

interface Shaping {
  Assign?: unknown
  Output?: unknown
}

const shapingOf = (state: MachineState): Shaping =>
  state.Type === 'Task' || state.Type === 'Succeed' ? state : {}

interface Performed {
  /** result of the state; absent: the state passes its input on */
  result?: unknown
  /** next state; undefined: the execution ends */
  next: string | undefined
  /** shaping that replaces the state's own shaping */
  shaping?: Shaping
}

async function perform(
  dependencies: StatesDependencies,
  line: StateLogLine,
  state: MachineState,
  place: ExecutionPlace,
  names: ExpressionVariables,
): Promise<Performed> {
  // waits for the pause before a retry
  if (place.until !== undefined && state.Type !== 'Wait')
    await dependencies.time.until(place.until, line.signal)
  switch (state.Type) {
    case 'Task':
      return { result: await runTaskState(dependencies, line, state, place, names), next: state.Next }
    case 'Choice': {
      const { Next, ...shaping } = await choose(state, names)
      return { next: Next, shaping }
    }
    case 'Wait': {
      // the end of the wait is stored, so a restarted host waits only for the rest of the time
      const until = place.until ?? place.entered + 1000 * state.Seconds
      keep(dependencies, line, { ...place, until })
      await dependencies.time.until(until, line.signal)
      return { next: state.Next }
    }
    case 'Succeed':
      return { next: undefined }
    case 'Fail':
      throw new StateFault(
        String(await evaluateTemplate(state.Error, names)),
        String(await evaluateTemplate(state.Cause, names)),
      )
  }
}

type Rule = Shaping & Pick<ChoiceState['Choices'][number], 'Next'>

/** Returns the first rule of a Choice state that applies, or the default. @throws StateFault */
async function choose({ Choices, Default }: ChoiceState, names: ExpressionVariables): Promise<Rule> {
  for (const { Condition, Next, Assign, Output } of Choices) {
    const applies = await evaluateTemplate(Condition, names)
    if (typeof applies !== 'boolean')
      throw new StateFault(
        'States.QueryEvaluationError',
        `the condition ${Condition} is neither true nor false`,
      )
    if (applies) return { Next, Assign, Output }
  }
  if (Default === undefined) throw new StateFault('States.NoChoiceMatched', 'no rule applies')
  return { Next: Default }
}

interface Leaving {
  shaping: Shaping
  names: ExpressionVariables
  /** the output, unless it is shaped */
  shown: unknown
  next: string | undefined
}

/**
 * Leaves a state: shapes its output, assigns variables, and enters the next state or ends the execution. A
 * killed host resumes in one of the two states, never between them, so the task's token is kept until the
 * next state is stored.
 */
async function leave(
  dependencies: StatesDependencies,
  line: StateLogLine,
  machine: MachineDefinition,
  place: ExecutionPlace,
  { shaping, names, shown, next }: Leaving,
): Promise<ExecutionPlace> {
  const { arn } = line.execution
  const output = shaping.Output === undefined ? shown : await evaluateTemplate(shaping.Output, names)
  const assigned = (await evaluateTemplate(shaping.Assign ?? {}, names)) as Record<string, unknown>
  const variables = { ...place.variables, ...assigned }
  requireWithinLimit('the output', output)
  for (const [name, value] of Object.entries(assigned)) requireWithinLimit(`the variable ${name}`, value)
  const details = { stateExitedEventDetails: { name: place.state, output: JSON.stringify(output) } }
  return dependencies.store.together(() => {
    recordStateLine(dependencies, arn, `${machine.States[place.state]?.Type}StateExited`, details)
    forget(dependencies, line)
    if (next !== undefined) return enter(dependencies, line, machine, next, output, variables)
    return keep(dependencies, line, { ...place, result: { value: output } })
  })
}

/** Deletes the task that a state has waited for. */
function forget({ store }: StatesDependencies, { execution: { arn } }: StateLogLine): void {
  const { token } = store.place(arn) ?? {}
  if (token !== undefined) store.dropTask(token)
}

/**
 * Retries a state, or continues with the state that a catcher names. @throws StateFault if no retrier and no
 * catcher matches the error
 */
async function recover(
  dependencies: StatesDependencies,
  line: StateLogLine,
  machine: MachineDefinition,
  place: ExecutionPlace,
  state: MachineState,
  fault: StateFault,
): Promise<ExecutionPlace> {
  const { Retry = [], Catch = [] } = state.Type === 'Task' ? state : {}
  const index = Retry.findIndex(({ ErrorEquals }) => errorNamesMatch(ErrorEquals, fault.error))
  const retrier = Retry[index]
  const tries = place.retries[index] ?? 0
  if (retrier && tries < retrier.MaxAttempts) {
    const { IntervalSeconds, BackoffRate } = retrier
    // full jitter
    const pause = IntervalSeconds * BackoffRate ** tries * Math.random()
    const until = dependencies.time.now() + pause * 1000
    const retries = Retry.map((_, at) => (place.retries[at] ?? 0) + Number(at === index))
    const { state: name, input, variables, entered } = place
    return dependencies.store.together(() => {
      forget(dependencies, line)
      return keep(dependencies, line, {
        state: name,
        input,
        variables,
        entered,
        tried: until,
        retries,
        until,
      })
    })
  }
  const catcher = Catch.find(({ ErrorEquals }) => errorNamesMatch(ErrorEquals, fault.error))
  if (!catcher) throw fault
  const errorOutput = { Error: fault.error, Cause: fault.reason }
  return leave(dependencies, line, machine, place, {
    shaping: catcher,
    names: withStates(namesOf(line, place), { errorOutput }),
    shown: errorOutput,
    next: catcher.Next,
  })
}
