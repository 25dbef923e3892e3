import type { AwsCaller } from '../identity/callers.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { ErrorTable } from '../wire/error-tables.ts'
import type { AwsError } from '../wire/errors.ts'
import type { HttpAnswer, WireRequest } from '../wire/http.ts'

/** What an action handler is given. */
export interface ActionCall<Input> {
  input: Input
  /** Verified. */
  caller: AwsCaller
  /** Of the credential scope. */
  region: string
  aws: ImitatedAws
}

/** One action: reads and changes the imitated AWS, returns what the protocol renders; throws `AwsError`. */
export type Action<Input, Result> = (call: ActionCall<Input>) => Result

/** How a family of services speaks. */
export interface Protocol<Input, Result> {
  errors: ErrorTable
  /** The action a request names; empty when it names none, or none of this service. */
  actionOf(request: WireRequest): string
  /** The action's input; throws `AwsError` when it is malformed. */
  inputOf(request: WireRequest): Input
  answer(request: WireRequest, action: string, result: Result, requestId: string): HttpAnswer
  refuse(request: WireRequest, error: AwsError, requestId: string): HttpAnswer
}

/** A service with its input and result types closed over. */
export interface ProviderService {
  errors: ErrorTable
  actionOf(request: WireRequest): string
  has(action: string): boolean
  /** Runs an action the service has and renders its answer. */
  perform(
    request: WireRequest,
    action: string,
    call: Omit<ActionCall<never>, 'input'>,
    requestId: string,
  ): HttpAnswer
  refuse(request: WireRequest, error: AwsError, requestId: string): HttpAnswer
}

/** Joins a protocol and a table of actions. */
export function service<Input, Result>(
  protocol: Protocol<Input, Result>,
  actions: Record<string, Action<Input, Result>>,
): ProviderService {
  const table = new Map(Object.entries(actions))
  return {
    errors: protocol.errors,
    actionOf: request => protocol.actionOf(request),
    has: action => table.has(action),
    perform: (request, action, call, requestId) => {
      const run = table.get(action)
      if (run === undefined) throw new Error(`no action ${action}`)
      const result = run({ ...call, input: protocol.inputOf(request) })
      return protocol.answer(request, action, result, requestId)
    },
    refuse: (request, error, requestId) => protocol.refuse(request, error, requestId),
  }
}
