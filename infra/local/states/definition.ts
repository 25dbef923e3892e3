import * as v from 'valibot'
import { findTemplateFaults } from './expressions.ts'

const names = v.pipe(v.array(v.string()), v.minLength(1))
const template = v.unknown()

/** A retrier without retries, or a retrier with full jitter. */
const retrier = v.pipe(
  v.strictObject({
    ErrorEquals: names,
    MaxAttempts: v.number(),
    IntervalSeconds: v.optional(v.number(), 1),
    BackoffRate: v.optional(v.number(), 2),
    JitterStrategy: v.optional(v.literal('FULL')),
  }),
  v.check(
    ({ MaxAttempts, JitterStrategy }) => MaxAttempts === 0 || JitterStrategy === 'FULL',
    'JitterStrategy must be FULL if MaxAttempts is above 0',
  ),
)
const catcher = v.strictObject({ ErrorEquals: names, Next: v.string(), Output: v.optional(template) })
const shaping = { Assign: v.optional(template), Output: v.optional(template) }

const task = v.strictObject({
  Type: v.literal('Task'),
  Resource: v.pipe(v.string(), v.regex(/^arn:[\w-]+:states:::lambda:invoke(\.waitForTaskToken)?$/)),
  Arguments: v.strictObject({ FunctionName: v.string(), Payload: v.optional(template, {}) }),
  TimeoutSeconds: v.optional(v.number()),
  Retry: v.optional(v.array(retrier), []),
  Catch: v.optional(v.array(catcher), []),
  Next: v.string(),
  ...shaping,
})
const choice = v.strictObject({
  Type: v.literal('Choice'),
  Choices: v.array(v.strictObject({ Condition: v.string(), Next: v.string(), ...shaping })),
  Default: v.optional(v.string()),
})
const wait = v.strictObject({ Type: v.literal('Wait'), Seconds: v.number(), Next: v.string() })
const succeed = v.strictObject({ Type: v.literal('Succeed'), Output: v.optional(template) })
const fail = v.strictObject({
  Type: v.literal('Fail'),
  Error: v.optional(v.string(), ''),
  Cause: v.optional(v.string(), ''),
})
const machine = v.strictObject({
  Comment: v.optional(v.string()),
  QueryLanguage: v.literal('JSONata'),
  StartAt: v.string(),
  States: v.record(v.string(), v.variant('Type', [task, choice, wait, succeed, fail])),
  TimeoutSeconds: v.optional(v.number()),
})

export type TaskState = v.InferOutput<typeof task>
export type ChoiceState = v.InferOutput<typeof choice>
export type MachineDefinition = v.InferOutput<typeof machine>
export type MachineState = MachineDefinition['States'][string]

/**
 * Reads a state machine in the Amazon States Language. The interpreter supports what the definitions in
 * `infra/constructs/` use.
 * @throws Error that names everything unsupported, and every expression that the service would reject
 */
export function parseMachineDefinition(definition: unknown): MachineDefinition {
  const read = v.safeParse(machine, definition)
  const faults = read.success
    ? [...targetFaults(read.output), ...findTemplateFaults(definition)]
    : read.issues.map(issue => `${v.getDotPath(issue)}: ${issue.message}`)
  if (read.success && faults.length === 0) return read.output
  throw new Error(`the state machine cannot be run:\n${faults.map(fault => `  ${fault}`).join('\n')}`)
}

function targetFaults({ StartAt, States }: MachineDefinition): string[] {
  const targets = Object.entries(States).flatMap(([name, one]) =>
    targetsOf(one).map(to => [name, to] as const),
  )
  return [['StartAt', StartAt] as const, ...targets]
    .filter(([, to]) => States[to] === undefined)
    .map(([from, to]) => `${from}: there is no state ${to}`)
}

function targetsOf(one: MachineState): string[] {
  if (one.Type === 'Task') return [one, ...one.Catch].map(({ Next }) => Next)
  if (one.Type === 'Wait') return [one.Next]
  if (one.Type !== 'Choice') return []
  return [...(one.Default === undefined ? [] : [one.Default]), ...one.Choices.map(({ Next }) => Next)]
}
