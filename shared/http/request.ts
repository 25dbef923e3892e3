import type { ApiError } from '../api/errors.ts'

/** A request in the common form of all front ends. */
export interface HttpRequest {
  method: string
  /** decoded exactly once, with its leading slash */
  path: string
  query: readonly (readonly [name: string, value: string])[]
  /** header names in lower case */
  headers: Readonly<Record<string, string>>
  body: string
  /** bytes of the body as sent */
  bodyLength: number
  /** client address as reported by the front end; behind a proxy, the address of the proxy's client */
  source: string
  /**
   * `fault` is set if the request bypassed the proxy or has no client address; such a request is rejected before
   * any other check
   */
  fault?: ApiError
  /** `domain`: domain name of the front end, as the front end reports it; empty if it reports none */
  domain: string
  /** request ID of the front end; empty for a direct invocation */
  gatewayId: string
  /** epoch milliseconds by which the response must be sent */
  deadline: number
}

export interface HttpResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}
