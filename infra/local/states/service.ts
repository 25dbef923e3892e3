import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { defined } from '../../../shared/values/defined.ts'
import { parseJson } from '../../../shared/values/json.ts'
import { type ListeningServer, startLoopbackServer } from '../os/loopback.ts'
import { createJsonAction, createJsonProtocol } from '../provider/services/json-protocol.ts'
import { createService } from '../provider/services/service.ts'
import { AwsError, awsError } from '../provider/wire/errors.ts'
import type { HttpAnswer, WireRequest } from '../provider/wire/http.ts'
import { type AccessKeyPair, createSignedServer } from '../provider/wire/signed-server.ts'
import type { StateMachines } from './machines.ts'
import type { ExecutionHistoryEvent, StoredExecution } from './store.ts'

/** Maximum bytes of an execution's input and of a task's answer. */
const MOST_BYTES = 262_144

const json = (code: string) =>
  v.pipe(
    v.string(),
    v.check(text => parseJson(text) !== undefined, code),
    v.check(text => Buffer.byteLength(text) <= MOST_BYTES, code),
  )
const arn = v.pipe(v.string(), v.startsWith('arn:', 'InvalidArn'))
const name = v.pipe(v.string(), v.regex(/^[^\s<>{}[\]?*"#%\\^|~`$&,;:/]{1,80}$/, 'InvalidName'))
const token = v.pipe(v.string(), v.nonEmpty('InvalidToken'))
const paged = {
  maxResults: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1000)), 0),
  nextToken: v.optional(v.pipe(v.string(), v.regex(/^\d+$/, 'InvalidToken')), '0'),
}
const text = (longest: number) => v.nullish(v.pipe(v.string(), v.maxLength(longest)), null)

interface Context {
  machines: StateMachines
}

const action = <S extends v.GenericSchema>(
  schema: S,
  perform: (machines: StateMachines, input: v.InferOutput<S>) => object,
) => createJsonAction<S, Context>(schema, ({ machines, input }) => perform(machines, input))

const startInput = v.object({
  stateMachineArn: arn,
  name: v.optional(name, () => randomUUID()),
  input: v.optional(json('InvalidExecutionInput'), '{}'),
})
const listInput = v.object({ stateMachineArn: arn, statusFilter: v.optional(v.string(), '%'), ...paged })
const historyInput = v.object({ executionArn: arn, ...paged })

/**
 * The actions of the Step Functions service.
 * @see https://docs.aws.amazon.com/step-functions/latest/apireference/API_Operations.html
 */
const stepFunctions = createService(createJsonProtocol('AWSStepFunctions'), {
  StartExecution: action(startInput, (machines, { stateMachineArn, name, input }) => {
    const { arn, started } = machines.start(stateMachineArn, name, input)
    return { executionArn: arn, startDate: started / 1000 }
  }),
  StopExecution: action(
    v.object({ executionArn: arn, error: text(256), cause: text(32_768) }),
    (machines, { executionArn, error, cause }) => ({
      stopDate: (machines.stop(executionArn, error, cause).stopped ?? 0) / 1000,
    }),
  ),
  DescribeExecution: action(v.object({ executionArn: arn }), (machines, { executionArn }) =>
    described(found(machines, executionArn)),
  ),
  ListStateMachines: action(v.object(paged), ({ all, created }, asked) => {
    const { page, next } = pageOf(all, asked)
    const stateMachines = page.map(arn => ({
      stateMachineArn: arn,
      name: arn.split(':').at(-1),
      type: 'STANDARD',
      creationDate: created / 1000,
    }))
    return { stateMachines, ...next }
  }),
  ListExecutions: action(listInput, ({ store }, { stateMachineArn, statusFilter, maxResults, nextToken }) => {
    const after = Number(nextToken)
    const limit = maxResults || 100
    const all = store.list(stateMachineArn, statusFilter, { after, limit: limit + 1 })
    return { executions: all.slice(0, limit).map(summary), ...further(all.length, after, limit) }
  }),
  GetExecutionHistory: action(historyInput, (machines, { executionArn, ...asked }) => {
    const all = machines.store.history(found(machines, executionArn).arn)
    const { page, next } = pageOf(all, asked)
    return { events: page.map(eventOf), ...next }
  }),
  SendTaskSuccess: action(
    v.object({ taskToken: token, output: json('InvalidOutput') }),
    (machines, { taskToken, output }) => {
      machines.answer(taskToken, { kind: 'succeeded', output: JSON.parse(output) as unknown })
      return {}
    },
  ),
})

function found({ store }: StateMachines, executionArn: string): StoredExecution {
  const execution = store.find(executionArn)
  if (!execution) throw awsError(400, 'ExecutionDoesNotExist', `there is no execution ${executionArn}`)
  return execution
}

/** Returns a page of a list, with the token for the next page. */
function pageOf<T>(all: readonly T[], { maxResults, nextToken }: { maxResults: number; nextToken: string }) {
  const after = Number(nextToken)
  const limit = maxResults || 100
  return { page: all.slice(after, after + limit), next: further(all.length - after, after, limit) }
}

const further = (there: number, after: number, limit: number): { nextToken?: string } =>
  there > limit ? { nextToken: String(after + limit) } : {}

const summary = ({ arn, machine, name, status, started, stopped }: StoredExecution) =>
  defined({
    executionArn: arn,
    stateMachineArn: machine,
    name,
    status,
    startDate: started / 1000,
    stopDate: stopped === null ? undefined : stopped / 1000,
  })

const described = (execution: StoredExecution) => {
  const { input, output, error, cause } = execution
  const known = Object.entries({ input, output, error, cause }).filter(([, value]) => value !== null)
  return { ...summary(execution), ...Object.fromEntries(known) }
}

const eventOf = ({ id, at, type, details }: ExecutionHistoryEvent) => ({
  id,
  previousEventId: id - 1,
  timestamp: at / 1000,
  type,
  ...details,
})

/**
 * Starts the Step Functions API (JSON 1.0) on loopback.
 * @param keys access keys of allowed callers
 */
export const startStatesService = (
  machines: StateMachines,
  keys: readonly AccessKeyPair[],
): Promise<ListeningServer> =>
  startLoopbackServer(createSignedServer(keys, async request => serve(machines, request)))

function serve(machines: StateMachines, request: WireRequest): HttpAnswer {
  try {
    return stepFunctions.perform(request, stepFunctions.actionOf(request), { machines }, '')
  } catch (error) {
    const fault = error instanceof AwsError ? error : new AwsError('internal', String(error))
    return stepFunctions.refuse(request, fault, '')
  }
}
