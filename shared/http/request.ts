import type { ApiError } from '../api/errors.ts'

/** A request as every front end delivers it. */
export interface HttpRequest {
  method: string
  /** decoded exactly once, with its leading slash */
  path: string
  query: readonly (readonly [name: string, value: string])[]
  /** lower-case names */
  headers: Readonly<Record<string, string>>
  body: string
  /** bytes of the body as sent */
  bodyLength: number
  /** address of the peer, from the front end's own knowledge; behind a proxy, of who called that */
  source: string
  /** the request did not come through the proxy, or nobody knows from where: it is refused before anything else */
  fault?: ApiError
  /** name under which the front end was called, from its own knowledge; empty where it has none */
  domain: string
  /** what the front end calls the request; empty when it was invoked directly */
  gatewayId: string
  /** epoch milliseconds at which the answer has to be on its way */
  deadline: number
}

export interface HttpResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}
