import type { AwsCaller } from '../identity/callers.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { AwsError } from '../wire/errors.ts'
import type { HttpAnswer, WireRequest } from '../wire/http.ts'

/** What an action of the imitated AWS is given, beside its input. */
export interface AwsContext {
  /** Verified. */
  caller: AwsCaller
  /** Of the credential scope. */
  region: string
  aws: ImitatedAws
}

/** What an action handler is given. */
export type ActionCall<Input, Context = AwsContext> = Context & { input: Input }

/** One action: reads and changes what its context holds, returns what the protocol renders; throws `AwsError`. */
export type Action<Input, Result, Context = AwsContext> = (call: ActionCall<Input, Context>) => Result

/** How a family of services speaks. */
export interface Protocol<Input, Result> {
  /** The action a request names; empty when it names none, or none of this service. */
  actionOf(request: WireRequest): string
  /** The action's input; throws `AwsError` when it is malformed. */
  inputOf(request: WireRequest): Input
  answer(request: WireRequest, action: string, result: Result, requestId: string): HttpAnswer
  refuse(request: WireRequest, error: AwsError, requestId: string): HttpAnswer
}

/** A service with its input and result types closed over. */
export interface ProviderService<Context = AwsContext>
  extends Pick<Protocol<never, never>, 'actionOf' | 'refuse'> {
  has(action: string): boolean
  /** Runs an action and renders its answer. @throws AwsError */
  perform(request: WireRequest, action: string, context: Context, requestId: string): HttpAnswer
}

/** Joins a protocol and a table of actions. */
export function service<Input, Result, Context = AwsContext>(
  protocol: Protocol<Input, Result>,
  actions: Readonly<Record<string, Action<Input, Result, Context>>>,
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
