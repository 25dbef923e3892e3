import * as v from 'valibot'
import { faultsOf } from './expressions.ts'

const names = v.pipe(v.array(v.string()), v.minLength(1))
const seconds = v.union([v.number(), v.string()])
const template = v.unknown()

const retrier = v.strictObject({
  ErrorEquals: names,
  IntervalSeconds: v.optional(v.number(), 1),
  MaxAttempts: v.optional(v.number(), 3),
  BackoffRate: v.optional(v.number(), 2),
  MaxDelaySeconds: v.optional(v.number()),
  JitterStrategy: v.optional(v.picklist(['NONE', 'FULL']), 'NONE'),
})
const catcher = v.strictObject({
  ErrorEquals: names,
  Next: v.string(),
  Assign: v.optional(template),
  Output: v.optional(template),
})

const every = { Comment: v.optional(v.string()), QueryLanguage: v.optional(v.literal('JSONata')) }
const shaping = { Assign: v.optional(template), Output: v.optional(template) }
const going = { Next: v.optional(v.string()), End: v.optional(v.literal(true)) }
const failing = { Retry: v.optional(v.array(retrier), []), Catch: v.optional(v.array(catcher), []) }

const task = v.strictObject({
  Type: v.literal('Task'),
  Resource: v.pipe(v.string(), v.regex(/^arn:[\w-]+:states:::lambda:invoke(\.waitForTaskToken)?$/)),
  Arguments: v.strictObject({ FunctionName: v.string(), Payload: v.optional(template, {}) }),
  TimeoutSeconds: v.optional(seconds),
  HeartbeatSeconds: v.optional(seconds),
  ...every,
  ...shaping,
  ...going,
  ...failing,
})
const choice = v.strictObject({
  Type: v.literal('Choice'),
  Choices: v.array(
    v.strictObject({ Condition: v.string(), Next: v.string(), ...shaping, Comment: v.optional(v.string()) }),
  ),
  Default: v.optional(v.string()),
  ...every,
  ...shaping,
})
const wait = v.strictObject({
  Type: v.literal('Wait'),
  Seconds: v.optional(seconds),
  Timestamp: v.optional(v.string()),
  ...every,
  ...shaping,
  ...going,
})
const pass = v.strictObject({ Type: v.literal('Pass'), ...every, ...shaping, ...going })
const succeed = v.strictObject({ Type: v.literal('Succeed'), ...every, Output: v.optional(template) })
const fail = v.strictObject({
  Type: v.literal('Fail'),
  Error: v.optional(v.string(), ''),
  Cause: v.optional(v.string(), ''),
  ...every,
})

const body: v.GenericSchema<unknown, Body> = v.strictObject({
  StartAt: v.string(),
  States: v.record(
    v.string(),
    v.lazy(() => state),
  ),
})
const processor: v.GenericSchema<unknown, Body> = v.strictObject({
  ProcessorConfig: v.optional(v.strictObject({ Mode: v.literal('INLINE') })),
  StartAt: v.string(),
  States: v.record(
    v.string(),
    v.lazy(() => state),
  ),
})
const map = v.strictObject({
  Type: v.literal('Map'),
  Items: v.optional(template),
  ItemSelector: v.optional(template),
  ItemProcessor: processor,
  MaxConcurrency: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
  ...every,
  ...shaping,
  ...going,
  ...failing,
})
const parallel = v.strictObject({
  Type: v.literal('Parallel'),
  Branches: v.array(body),
  Arguments: v.optional(template),
  ...every,
  ...shaping,
  ...going,
  ...failing,
})
const state = v.variant('Type', [task, choice, wait, pass, map, parallel, succeed, fail])
const machine = v.strictObject({
  Comment: v.optional(v.string()),
  QueryLanguage: v.literal('JSONata'),
  StartAt: v.string(),
  States: v.record(v.string(), state),
  TimeoutSeconds: v.optional(v.number()),
})

export type Task = v.InferOutput<typeof task>
export type Choice = v.InferOutput<typeof choice>
export type Wait = v.InferOutput<typeof wait>
type Pass = v.InferOutput<typeof pass>
type Succeed = v.InferOutput<typeof succeed>
export type Fail = v.InferOutput<typeof fail>
export type MapState = v.InferOutput<typeof map>
export type Parallel = v.InferOutput<typeof parallel>
export type State = Task | Choice | Wait | Pass | Succeed | Fail | MapState | Parallel

/** States that lead to one another: a machine's, a branch's, or those that serve each element of a list. */
export interface Body {
  StartAt: string
  States: Readonly<Record<string, State>>
}

export type Machine = v.InferOutput<typeof machine>

/**
 * A state machine in the Amazon States Language, as far as this interpreter goes, which is as far as workflows may go.
 * @throws Error naming what it does not honour, and every expression that the service would not take
 */
export function readDefinition(definition: unknown): Machine {
  const read = v.safeParse(machine, definition)
  const faults = read.success
    ? [...bodiesIn(read.output).flatMap(targetFaults), ...faultsOf(definition)]
    : read.issues.map(issue => `${v.getDotPath(issue)}: ${issue.message}`)
  if (read.success && faults.length === 0) return read.output
  throw new Error(`the state machine cannot be run:\n${faults.map(fault => `  ${fault}`).join('\n')}`)
}

/** A body, and all inside its states. */
const bodiesIn = (outer: Body): Body[] => [
  outer,
  ...Object.values(outer.States).flatMap(one => {
    if (one.Type === 'Map') return bodiesIn(one.ItemProcessor)
    return one.Type === 'Parallel' ? one.Branches.flatMap(bodiesIn) : []
  }),
]

function targetFaults({ StartAt, States }: Body): string[] {
  const targets = Object.entries(States).flatMap(([name, one]) =>
    targetsOf(one).map(to => [name, to] as const),
  )
  const nowhere = [['StartAt', StartAt] as const, ...targets].filter(([, to]) => States[to] === undefined)
  const lost = Object.entries(States).filter(
    ([, one]) => goesOn(one) && (one.Next === undefined) === (one.End === undefined),
  )
  return [
    ...nowhere.map(([from, to]) => `${from}: there is no state ${to}`),
    ...lost.map(([name]) => `${name}: needs either Next or End`),
  ]
}

const goesOn = (one: State): one is Exclude<State, Choice | Succeed | Fail> =>
  one.Type !== 'Choice' && one.Type !== 'Succeed' && one.Type !== 'Fail'

function targetsOf(one: State): string[] {
  const to = [
    ...(goesOn(one) ? [one.Next] : []),
    ...('Catch' in one ? one.Catch.map(({ Next }) => Next) : []),
    ...(one.Type === 'Choice' ? [one.Default, ...one.Choices.map(({ Next }) => Next)] : []),
  ]
  return to.filter(name => name !== undefined)
}
