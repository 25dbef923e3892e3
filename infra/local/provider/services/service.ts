import type { Caller } from '../identity/callers.ts'
import type { World } from '../state/world.ts'
import type { HttpAnswer, HttpRequest } from '../wire/http.ts'
import type { AwsError } from '../wire/trouble.ts'
import type { Wording } from '../wire/wording.ts'

/** What an action handler is given. */
export interface Call<Input> {
  input: Input
  /** Verified. */
  caller: Caller
  /** Of the credential scope. */
  region: string
  world: World
}

/** One action: reads and changes the world, returns what the protocol renders; throws `AwsError`. */
export type Action<Input, Result> = (call: Call<Input>) => Result

/** How a family of services speaks. */
export interface Protocol<Input, Result> {
  wording: Wording
  /** The action a request names; empty when it names none, or none of this service. */
  actionOf(request: HttpRequest): string
  /** The action's input; throws `AwsError` when it is malformed. */
  inputOf(request: HttpRequest): Input
  answer(request: HttpRequest, action: string, result: Result, requestId: string): HttpAnswer
  refuse(request: HttpRequest, error: AwsError, requestId: string): HttpAnswer
}

/** A service with its input and result types closed over. */
export interface Service {
  wording: Wording
  actionOf(request: HttpRequest): string
  has(action: string): boolean
  /** Runs an action the service has and renders its answer. */
  perform(
    request: HttpRequest,
    action: string,
    call: Omit<Call<never>, 'input'>,
    requestId: string,
  ): HttpAnswer
  refuse(request: HttpRequest, error: AwsError, requestId: string): HttpAnswer
}

/** Joins a protocol and a table of actions. */
export function service<Input, Result>(
  protocol: Protocol<Input, Result>,
  actions: Record<string, Action<Input, Result>>,
): Service {
  const table = new Map(Object.entries(actions))
  return {
    wording: protocol.wording,
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
