/** A header as it arrived: name lower-cased, value untouched. */
export type Header = readonly [name: string, value: string]

/** One request as it arrived, before anything is decoded: signatures cover these bytes. */
export interface WireRequest {
  method: string
  /** Still percent-encoded, without the query. */
  path: string
  /** Still percent-encoded, without the question mark; empty when there is none. */
  query: string
  /** In the order sent, repeated names kept. */
  headers: readonly Header[]
  body: Buffer
}

/** One answer, ready to be written. */
export interface HttpAnswer {
  status: number
  headers: Record<string, string>
  body: string | Buffer
}

/** What a request ends in; `reset` closes the connection without an answer. */
export type WireOutcome = HttpAnswer | 'reset'

/**
 * The value of one header, repeated ones joined with a comma.
 *
 * @param name lower case
 * @returns undefined when the request has no such header
 */
export function headerOf(request: WireRequest, name: string): string | undefined {
  let joined: string | undefined
  for (const [key, value] of request.headers) {
    if (key === name) joined = joined === undefined ? value : `${joined},${value}`
  }
  return joined
}

/** An answer with a text body. */
export const textAnswer = (status: number, contentType: string, body: string): HttpAnswer => ({
  status,
  headers: { 'content-type': contentType },
  body,
})
