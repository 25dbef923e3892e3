import type { AwsCaller } from '../identity/callers.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { AwsError } from '../wire/errors.ts'
import type { HttpAnswer, WireRequest } from '../wire/http.ts'

/** Context of an action, in addition to its input. */
export interface ActionContext {
  /** The verified caller. */
  caller: AwsCaller
  /** The region of the credential scope. */
  region: string
  aws: ImitatedAws
}

/** The argument of an action. */
export type ActionCall<Input, Context = ActionContext> = Context & { input: Input }

/**
 * One action of a service. The action reads and changes the context and returns the result that the protocol
 * renders. Throws `AwsError`.
 */
export type ServiceAction<Input, Result, Context = ActionContext> = (
  call: ActionCall<Input, Context>,
) => Result

/** The wire protocol of a family of services. */
export interface ServiceProtocol<Input, Result> {
  /** Returns the action of a request. Empty: the request names no action of this service. */
  actionOf(request: WireRequest): string
  /** Parses the action's input. @throws AwsError if the input is malformed */
  inputOf(request: WireRequest): Input
  answer(request: WireRequest, action: string, result: Result, requestId: string): HttpAnswer
  refuse(request: WireRequest, error: AwsError, requestId: string): HttpAnswer
}

/** A service without its input and result types. */
export interface ProviderService<Context = ActionContext>
  extends Pick<ServiceProtocol<never, never>, 'actionOf' | 'refuse'> {
  has(action: string): boolean
  /** Runs an action and renders its answer. @throws AwsError */
  perform(request: WireRequest, action: string, context: Context, requestId: string): HttpAnswer
}

/** Creates a service from a protocol and a table of actions. */
export function createService<Input, Result, Context = ActionContext>(
  protocol: ServiceProtocol<Input, Result>,
  actions: Readonly<Record<string, ServiceAction<Input, Result, Context>>>,
): ProviderService<Context> {
  const table = new Map(Object.entries(actions))
  return {
    ...protocol,
    has: action => table.has(action),
    perform: (request, action, context, requestId) => {
      const run = table.get(action)
      if (run === undefined) throw new AwsError('unknown-action', `Could not find operation ${action}`)
      const result = run({ ...context, input: protocol.inputOf(request) })
      return protocol.answer(request, action, result, requestId)
    },
  }
}
