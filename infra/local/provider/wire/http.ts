/** A received header: name in lower case, value unchanged. */
export type HttpHeader = readonly [name: string, value: string]

/** A received HTTP request. Nothing of it is decoded, because signatures cover the received bytes. */
export interface WireRequest {
  method: string
  /** Still percent-encoded, without the query. */
  path: string
  /** Still percent-encoded, without the question mark; empty when the request has no query. */
  query: string
  /** In the order in which the client sent them; repeated names are kept. */
  headers: readonly HttpHeader[]
  body: Buffer
}

/** An HTTP answer to be written. */
export interface HttpAnswer {
  status: number
  headers: Record<string, string>
  body: string | Buffer
}

/** The outcome of a request; `reset` closes the connection without an answer. */
export type WireOutcome = HttpAnswer | 'reset'

/**
 * Returns the value of a header; the values of a repeated header are joined with a comma.
 * @param name lower case
 * @returns undefined if the request has no such header
 */
export function requestHeaderOf(request: WireRequest, name: string): string | undefined {
  let joined: string | undefined
  for (const [key, value] of request.headers) {
    if (key === name) joined = joined === undefined ? value : `${joined},${value}`
  }
  return joined
}

/** Creates an answer with a text body. */
export const createTextAnswer = (status: number, contentType: string, body: string): HttpAnswer => ({
  status,
  headers: { 'content-type': contentType },
  body,
})
