import type { WireAnswer } from './post.ts'
import { AwsServiceError, unreadableAnswerError } from './service-error.ts'
import { parseRetryAfter } from './signed-posts.ts'
import { checkAnswerObject } from './values.ts'

/** A service's answer in JSON: a result, or an error (`__type`). */
export interface AwsJsonAnswer {
  statusCode: number
  body: object
  /** `retryAfterMs` is set when the service requests a retry */
  retryAfterMs?: number
}

/**
 * Parses a service's answer.
 * @throws AwsServiceError when a result is not JSON
 */
export function parseJsonAnswer(answer: WireAnswer): AwsJsonAnswer {
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
    // A proxy between this process and the service may answer in its own format.
    if (status !== 200) return {}
  }
  throw unreadableAnswerError('the answer of AWS is not JSON')
}

/**
 * Returns the result in a service's answer.
 * @throws AwsServiceError when the service refused the call
 */
export function readAwsResult({
  statusCode: status,
  body,
  retryAfterMs,
}: AwsJsonAnswer): Record<string, unknown> {
  const object = checkAnswerObject(body)
  if (status === 200) return object
  const { __type, message, Message, ...said } = object
  const name = typeof __type === 'string' ? (__type.split('#').at(-1) ?? '') : 'Unknown'
  const text = message ?? Message
  throw new AwsServiceError(name, typeof text === 'string' ? text : '', {
    status,
    said,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}
