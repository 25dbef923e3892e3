import type { WireAnswer } from './post.ts'
import { ServiceError, unreadableAnswer } from './service-error.ts'
import { parseRetryAfter } from './signed-posts.ts'
import { checkObject } from './values.ts'

/** A service's answer in JSON: a result, or an error (`__type`). */
export interface JsonAnswer {
  statusCode: number
  body: object
  /** when the service asks for a retry */
  retryAfterMs?: number
}

/**
 * Parses an answer.
 * @throws ServiceError when a result is not JSON
 */
export function parseJsonAnswer(answer: WireAnswer): JsonAnswer {
  const { status: statusCode, body } = answer
  const retryAfterMs = parseRetryAfter(answer)
  return {
    statusCode,
    body: objectOf(body, statusCode),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

function objectOf(body: Buffer, status: number): object {
  try {
    const read: unknown = JSON.parse(body.toString('utf8'))
    if (typeof read === 'object' && read !== null) return read
  } catch {
    // A proxy between us and the service may answer in its own format.
    if (status !== 200) return {}
  }
  throw unreadableAnswer('the answer is not JSON')
}

/**
 * Returns the result in an answer.
 * @throws ServiceError when the service refused the call
 */
export function readResult({ statusCode: status, body, retryAfterMs }: JsonAnswer): Record<string, unknown> {
  const object = checkObject(body)
  if (status === 200) return object
  const { __type, message, Message, ...said } = object
  const name = typeof __type === 'string' ? (__type.split('#').at(-1) ?? '') : 'Unknown'
  const text = message ?? Message
  throw new ServiceError(name, typeof text === 'string' ? text : '', {
    status,
    said,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}
