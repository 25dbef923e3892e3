/**
 * Every kind of error response. The code is stable and sent in the header `X-Error-Code`. `always` replaces the detail, so that a
 * denial reveals nothing. `begins` precedes the detail.
 * @see docs/spec/transport.md#errors
 */
export const errorCodes = {
  invalid_request: { status: 400 },
  unclear_list_flag: { status: 400 },
  path_disabled: {
    status: 400,
    always:
      'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
  },
  permission_denied: { status: 403, always: 'permission denied' },
  /** clients log in again only on status 403 with `invalid token`; this is Vault's exact text */
  invalid_token: {
    status: 403,
    always: '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n',
  },
  /** for an operation token: a batch token of an unknown term looks like any other text */
  unknown_term: { status: 403 },
  bad_token: { status: 403, begins: 'bad token' },
  misdirected: {
    status: 403,
    always: 'this address accepts only requests from the proxy: send requests to the address of the proxy',
  },
  not_found: { status: 404, always: '' },
  no_such_mount: { status: 404 },
  not_licensed: { status: 404 },
  unsupported_path: { status: 404, begins: 'unsupported path' },
  unsupported_operation: { status: 405, begins: 'unsupported operation' },
  too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  head_too_large: { status: 431 },
  too_many_requests: { status: 429 },
  internal: { status: 500, always: 'internal error' },
  activation_failed: { status: 400 },
  provider_failed: { status: 502 },
  busy: { status: 503 },
  /** the cluster record or the head of the journal was stored by another version */
  unknown_format: { status: 503 },
  not_initialised: { status: 503, always: 'this cluster is not initialised' },
} as const satisfies Record<string, { status: number; always?: string; begins?: string }>

export type ErrorCode = keyof typeof errorCodes

/** The text of `busy` if the tables do not respond. */
export const STORAGE_BUSY_TEXT = 'the storage is busy'
/** The beginning of the text of `busy` if an audit entry cannot be written. */
export const AUDIT_UNWRITABLE_TEXT = 'the audit log cannot be written'

export interface ErrorDetails extends ErrorOptions {
  /** seconds after which a retry makes sense */
  retryAfter?: number
  /** exact reason for administrators; written to the audit log, never sent to the client */
  reason?: Record<string, unknown>
}

/** An error response. The message may reach the client, `cause` only the log, and `reason` only the audit log. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly retryAfter: number | undefined
  readonly reason: Record<string, unknown> | undefined
  constructor(code: ErrorCode, message = '', details: ErrorDetails = {}) {
    super(message, details)
    this.name = 'ApiError'
    this.code = code
    this.retryAfter = details.retryAfter
    this.reason = details.reason
  }
}

/**
 * Reasons for which a token is permanently invalid, so that its holder must get a new one. Denials for other
 * reasons leave the token valid.
 */
const NO_TOKEN: readonly string[] = [
  'token-unknown',
  'token-expired',
  'token-spent',
  'mount-gone',
  'parent-gone',
  'instance-ended',
  'operation-token-unknown',
  'batch-token-root',
  'batch-token-unreadable',
  'batch-token-unsigned',
  'term-retired',
]

/** Builds the error of a denial. @param why goes to the audit log */
export const denialError = (why: string): ApiError =>
  new ApiError(NO_TOKEN.includes(why) ? 'invalid_token' : 'permission_denied', '', { reason: { why } })

/** Builds an error from what is wrong and what to do next. */
export const createApiError = (
  code: ErrorCode,
  wrong: string,
  next: string,
  details?: ErrorDetails,
): ApiError => new ApiError(code, `${wrong}; ${next}`, details)

/** Builds the error for an invalid request. The text tells the client what to change. */
export const invalidRequestError = (message: string, details?: ErrorDetails): ApiError =>
  new ApiError('invalid_request', message, details)

/** The negative result of a check: a value that each flow throws in one place. */
export interface Refusal {
  code: 'invalid_request' | 'permission_denied'
  /** stable name of the rule; a dimension of metrics and a key of the audit log */
  why: string
  /** text for the client */
  text: string
}

export const createRefusal = (
  why: string,
  text: string,
  code: Refusal['code'] = 'invalid_request',
): Refusal => ({
  code,
  why,
  text,
})
