import type { Answer, ResponseAuth } from '../api/call.ts'
import { ApiError, errorCodes } from '../api/errors.ts'
import { isRoleRefusal } from '../journal/counted-refusals.ts'
import type { WrapInfo } from '../model/wrapped.ts'
import { defined } from '../values/defined.ts'
import type { HttpResponse } from './request.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'content-type': 'application/json',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
} as const

/** The context of a response. */
export interface ResponseFrame {
  requestId: string
  /** `cloud`, `token`, `system` … */
  mountType: string
  /** true if the data is repeated outside `data` */
  mirrored: boolean
  /** `warnings`: further warnings; they alone do not turn a 204 into a 200 */
  warnings: readonly string[]
  /** true if the warnings name unknown fields of a write; these turn a 204 into a 200, so that clients notice them */
  unknownFields: boolean
}

/**
 * Builds the body of a successful response; undefined means 204.
 * @see docs/spec/transport.md#successes
 */
export function responseEnvelope(answer: Answer, frame: ResponseFrame): Record<string, unknown> | undefined {
  const warnings = [...new Set([...(answer.warnings ?? []), ...frame.warnings])]
  const envelope = (data: unknown, auth: ResponseAuth | null = null) => ({
    request_id: frame.requestId,
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: warnings.length > 0 ? warnings : null,
    auth,
    mount_type: frame.mountType,
  })
  switch (answer.kind) {
    case 'nothing':
      return answer.warnings?.length || frame.unknownFields ? envelope(null) : undefined
    case 'accepted':
      return envelope(null)
    case 'data':
      return { ...(frame.mirrored ? answer.data : {}), ...envelope(answer.data) }
    case 'keys':
      return envelope(defined({ keys: answer.keys, key_info: answer.info }))
    case 'auth':
      return envelope(null, answer.auth)
    case 'plain':
      return { ...answer.body }
    case 'wrapped':
      return { ...envelope(null), wrap_info: answer.info }
    case 'unwrapped':
      return JSON.parse(answer.body) as Record<string, unknown>
  }
}

const statusOf = (answer: Answer): number =>
  answer.kind === 'accepted'
    ? 202
    : answer.kind === 'plain'
      ? answer.status
      : (answer.kind === 'data' && answer.status) || 200

/** Renders a successful response. */
export function renderResponse(answer: Answer, frame: ResponseFrame): HttpResponse {
  if (answer.kind === 'keys' && answer.keys.length === 0)
    return renderErrorResponse(new ApiError('not_found'))
  const envelope = responseEnvelope(answer, frame)
  if (!envelope) {
    const { 'content-type': _, ...headers } = HEADERS
    return { status: 204, headers, body: '' }
  }
  const headers = { ...HEADERS, ...retryIn(answer.retryAfter) }
  return { status: statusOf(answer), headers, body: JSON.stringify(envelope) }
}

const retryIn = (seconds: number | undefined): Record<string, string> =>
  seconds === undefined ? {} : { 'retry-after': String(seconds) }

/** Renders a response whose content was wrapped; the response contains the wrapping token. */
export const renderWrappedResponse = (info: WrapInfo, frame: ResponseFrame): HttpResponse => ({
  status: 200,
  headers: HEADERS,
  body: JSON.stringify({
    request_id: frame.requestId,
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: null,
    wrap_info: info,
    warnings: null,
    auth: null,
    mount_type: frame.mountType,
  }),
})

/**
 * Reports whether the client should connect to another cluster. A client that keeps its connection never resolves the service name
 * again. @see docs/spec/transport.md#kept-connections
 */
const leadsElsewhere = (error: ApiError): boolean =>
  error.code === 'path_disabled' || isRoleRefusal(error) || error.reason?.['why'] === 'handing-over'

/** Renders an error response. @see docs/spec/transport.md#errors */
export function renderErrorResponse(error: ApiError): HttpResponse {
  const row: { status: number; always?: string; begins?: string } = errorCodes[error.code]
  const text = row.always ?? [row.begins ?? '', error.message].filter(part => part !== '').join(': ')
  return {
    status: row.status,
    headers: defined({
      ...HEADERS,
      'x-error-code': error.code,
      connection: leadsElsewhere(error) ? 'close' : undefined,
      ...retryIn(error.retryAfter),
    }),
    body: JSON.stringify({ errors: text === '' ? [] : [text] }),
  }
}
