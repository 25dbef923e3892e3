import { describe, expect, test } from 'vitest'
import {
  ApiError,
  createRefusal,
  type ErrorCode,
  errorCodes,
  invalidRequestError,
} from '../../../shared/api/errors.ts'

/** The HTTP status of each error code, and the texts that clients match. */
const rows: [code: ErrorCode, status: number, text: string | undefined, kind?: 'begins'][] = [
  ['invalid_request', 400, undefined],
  ['unclear_list_flag', 400, undefined],
  [
    'path_disabled',
    400,
    'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
  ],
  ['permission_denied', 403, 'permission denied'],
  ['invalid_token', 403, '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n'],
  ['unknown_term', 403, undefined],
  ['bad_token', 403, 'bad token', 'begins'],
  [
    'misdirected',
    403,
    'this address accepts only requests from the proxy: send requests to the address of the proxy',
  ],
  ['not_found', 404, ''],
  ['no_such_mount', 404, undefined],
  ['not_licensed', 404, undefined],
  ['unsupported_path', 404, 'unsupported path', 'begins'],
  ['unsupported_operation', 405, 'unsupported operation', 'begins'],
  ['too_large', 413, undefined],
  ['unsupported_media_type', 415, undefined],
  ['head_too_large', 431, undefined],
  ['too_many_requests', 429, undefined],
  ['internal', 500, 'internal error'],
  ['activation_failed', 400, undefined],
  ['provider_failed', 502, undefined],
  ['busy', 503, undefined],
  ['unknown_format', 503, undefined],
  ['not_initialised', 503, 'this cluster is not initialised'],
]

describe('error codes', () => {
  test.each(rows)('%s has the status %i', (code, status, text, kind = 'always' as never) => {
    const row: { status: number } = errorCodes[code]
    expect(row).toEqual({ status, ...(text === undefined ? {} : { [kind]: text }) })
  })

  test('the table contains every code', () =>
    expect(Object.keys(errorCodes).sort()).toEqual(rows.map(([code]) => code).sort()))

  test('an error carries cause and reason next to its text', () => {
    const cause = new Error('deep down')
    const error = new ApiError('busy', 'later', { cause, retryAfter: 3, reason: { why: 'x' } })
    expect(error).toMatchObject({
      code: 'busy',
      message: 'later',
      cause,
      retryAfter: 3,
      reason: { why: 'x' },
    })
    expect(invalidRequestError('wrong')).toMatchObject({
      code: 'invalid_request',
      message: 'wrong',
      retryAfter: undefined,
    })
  })

  test('a refusal is an invalid request by default', () => {
    expect(createRefusal('why', 'text')).toEqual({ code: 'invalid_request', why: 'why', text: 'text' })
    expect(createRefusal('why', 'text', 'permission_denied').code).toBe('permission_denied')
  })
})
