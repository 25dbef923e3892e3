import type { WireAnswer } from './post.ts'
import { ServiceError, unreadable } from './service-error.ts'
import { retryAfterIn } from './signed-posts.ts'
import { objectIn } from './values.ts'

/** What a service answers in JSON: a result, or an error (`__type`). */
export interface JsonAnswer {
  statusCode: number
  body: object
  /** when the service wants to be asked again */
  retryAfterMs?: number
}

/** @throws ServiceError when a result is no JSON */
export function jsonAnswer(answer: WireAnswer): JsonAnswer {
  const { status: statusCode, body } = answer
  const retryAfterMs = retryAfterIn(answer)
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
    // what stands between us and a service answers in its own way
    if (status !== 200) return {}
  }
  throw unreadable('an answer is no JSON')
}

/** The result in an answer. @throws ServiceError for what the service says of a call that it did not do */
export function resultIn({ statusCode: status, body, retryAfterMs }: JsonAnswer): Record<string, unknown> {
  const object = objectIn(body)
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
