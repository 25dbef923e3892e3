import { describe, expect, test } from 'vitest'
import { journalEndedError } from '../../../shared/adapters/aws/storage/faults.ts'
import type { Answer, ResponseAuth } from '../../../shared/api/call.ts'
import { ApiError } from '../../../shared/api/errors.ts'
import {
  type ResponseFrame,
  renderErrorResponse,
  renderResponse,
  renderWrappedResponse,
  responseEnvelope,
} from '../../../shared/http/render.ts'
import { REFUSED_BY_ROLE } from '../../../shared/journal/counted-refusals.ts'
import { becomingSecondaryError } from '../../../shared/replication/operation/refusals.ts'

const frame = (parts: Partial<ResponseFrame> = {}): ResponseFrame => ({
  requestId: 'r-1',
  mountType: 'cloud',
  mirrored: false,
  warnings: [],
  unknownFields: false,
  ...parts,
})

const empty = {
  request_id: 'r-1',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  data: null,
  wrap_info: null,
  warnings: null,
  auth: null,
  mount_type: 'cloud',
}
const auth = { client_token: 'hvs.a' } as ResponseAuth
const info = { token: 'hvs.w', accessor: 'a', ttl: 60, creation_time: 't', creation_path: 'p' }

const shown = (answer: Answer, parts: Partial<ResponseFrame> = {}) => {
  const { status, body } = renderResponse(answer, frame(parts))
  return [status, body === '' ? undefined : JSON.parse(body)]
}

describe('successful responses', () => {
  test.each<
    [name: string, answer: Answer, parts: Partial<ResponseFrame>, status: number, body: object | undefined]
  >([
    ['nothing', { kind: 'nothing' }, {}, 204, undefined],
    ['an empty response to ignored parameters', { kind: 'nothing' }, { warnings: ['w'] }, 204, undefined],
    [
      'an empty response to an unknown field',
      { kind: 'nothing' },
      { warnings: ['w'], unknownFields: true },
      200,
      { ...empty, warnings: ['w'] },
    ],
    [
      'an empty response with a warning',
      { kind: 'nothing', warnings: ['a'] },
      { warnings: ['b'] },
      200,
      { ...empty, warnings: ['a', 'b'] },
    ],
    ['data', { kind: 'data', data: { x: 1 } }, {}, 200, { ...empty, data: { x: 1 } }],
    [
      'data with a warning about ignored parameters',
      { kind: 'data', data: {} },
      { warnings: ['w'] },
      200,
      { ...empty, data: {}, warnings: ['w'] },
    ],
    ['data with another status', { kind: 'data', data: {}, status: 202 }, {}, 202, { ...empty, data: {} }],
    [
      'mirrored data',
      { kind: 'data', data: { x: 1 } },
      { mirrored: true },
      200,
      { ...empty, x: 1, data: { x: 1 } },
    ],
    [
      'mirrored data with a key of the envelope',
      { kind: 'data', data: { auth: 1, data: 2, request_id: 3 } },
      { mirrored: true },
      200,
      { ...empty, data: { auth: 1, data: 2, request_id: 3 } },
    ],
    ['keys', { kind: 'keys', keys: ['a', 'b'] }, {}, 200, { ...empty, data: { keys: ['a', 'b'] } }],
    [
      'keys with key_info',
      { kind: 'keys', keys: ['a'], info: { a: 1 } },
      {},
      200,
      { ...empty, data: { keys: ['a'], key_info: { a: 1 } } },
    ],
    ['an empty list of keys', { kind: 'keys', keys: [] }, {}, 404, { errors: [] }],
    ['a token', { kind: 'auth', auth }, {}, 200, { ...empty, auth }],
    [
      'accepted background work',
      { kind: 'accepted', warnings: ['w'] },
      {},
      202,
      { ...empty, warnings: ['w'] },
    ],
    [
      'a plain body without envelope',
      { kind: 'plain', status: 472, body: { x: 1 } },
      { warnings: ['w'] },
      472,
      { x: 1 },
    ],
    ['unwrapped data', { kind: 'unwrapped', body: '{"x":1}' }, {}, 200, { x: 1 }],
    ['a new wrapping token', { kind: 'wrapped', info }, {}, 200, { ...empty, wrap_info: info }],
  ])('%s: $3', (_, answer, parts, status, body) => expect(shown(answer, parts)).toEqual([status, body]))

  test('a wrapped response contains the wrapping token instead of its content', () => {
    const { status, body } = renderWrappedResponse(info, frame())
    expect([status, JSON.parse(body)]).toEqual([200, { ...empty, wrap_info: info }])
  })

  test('responses are not cacheable, and only a body has a content type', () => {
    const { headers } = renderResponse({ kind: 'data', data: {} }, frame())
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' })
    const none = renderResponse({ kind: 'nothing' }, frame())
    expect(none.headers).toMatchObject({ 'cache-control': 'no-store' })
    expect(none.headers).not.toHaveProperty('content-type')
    expect(renderWrappedResponse(info, frame()).headers).toMatchObject({ 'cache-control': 'no-store' })
  })

  test('a response without a body has no envelope', () => {
    expect(responseEnvelope({ kind: 'nothing' }, frame())).toBeUndefined()
  })
})

describe('error responses', () => {
  test.each<[name: string, error: ApiError, status: number, errors: string[]]>([
    ['an invalid request with its text', new ApiError('invalid_request', 'wrong'), 400, ['wrong']],
    ['a denial without its text', new ApiError('permission_denied', 'role x'), 403, ['permission denied']],
    ['an internal error without its text', new ApiError('internal', 'at line 3'), 500, ['internal error']],
    ['a not_found error without text', new ApiError('not_found', 'x'), 404, []],
    ['an invalid list flag without text', new ApiError('unclear_list_flag'), 400, []],
    ['an error without text', new ApiError('busy'), 503, []],
  ])('%s: $2 $3', (_, error, status, errors) => {
    const reply = renderErrorResponse(error)
    expect([reply.status, JSON.parse(reply.body)]).toEqual([status, { errors }])
    expect(reply.headers).toMatchObject({
      'x-error-code': error.code,
      'cache-control': 'no-store',
      'content-type': 'application/json',
    })
    expect(reply.headers).not.toHaveProperty('retry-after')
  })

  test.each<[string, ApiError, string | undefined]>([
    ['of a DR secondary', new ApiError('path_disabled'), 'close'],
    ['of a bootstrapping cluster', becomingSecondaryError({ reason: { why: REFUSED_BY_ROLE } }), 'close'],
    ['of a primary whose journal has ended', journalEndedError(), 'close'],
    ['of a busy cluster', new ApiError('busy', 'later', { retryAfter: 1 }), undefined],
  ])('an error %s has the Connection header %s', (_, error, connection) => {
    expect(renderErrorResponse(error).headers['connection']).toBe(connection)
  })

  test('the cause and the reason of an error are not sent to the client', () => {
    const error = new ApiError('busy', 'later', {
      cause: new Error('S3CRET'),
      reason: { why: 'S3CRET' },
      retryAfter: 2,
    })
    expect(JSON.stringify(renderErrorResponse(error))).not.toContain('S3CRET')
    expect(renderErrorResponse(error).headers).toMatchObject({ 'retry-after': '2' })
  })
})
