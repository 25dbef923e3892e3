/**
 * Every kind of failing answer. The code is stable and travels in the header `X-Error-Code`; `always` is a
 * text that replaces the detail, so that a denial tells its caller nothing. `begins` is a text that the detail follows.
 * @see docs/spec/transport.md#errors
 */
export const errorCodes = {
  invalid_request: { status: 400 },
  unclear_list_flag: { status: 400 },
  path_disabled: {
    status: 400,
    always:
      'path disabled: this cluster is a DR secondary; send this to its primary, which GET sys/replication/dr/status names',
  },
  permission_denied: { status: 403, always: 'permission denied' },
  /** clients log in again on `invalid token` beside status 403, and on nothing else: the incumbent's text to the letter */
  invalid_token: {
    status: 403,
    always: '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n',
  },
  /** of an operation token: nobody can tell a batch token of an unknown term from any other text */
  unknown_term: { status: 403 },
  bad_token: { status: 403, begins: 'bad token' },
  misdirected: {
    status: 403,
    always: 'this address answers the proxy in front of it only: send requests to the address of the proxy',
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
  /** another version has stored the cluster record, or the head of the journal */
  unknown_format: { status: 503 },
  not_initialised: { status: 503, always: 'this cluster is not initialised' },
} as const satisfies Record<string, { status: number; always?: string; begins?: string }>

export type Code = keyof typeof errorCodes

/** The text of `busy` where the tables do not answer. */
export const STORAGE_BUSY = 'the storage is busy'
/** The beginning of the text of `busy` where an entry of the audit log could not be written. */
export const AUDIT_UNWRITABLE = 'the audit log cannot be written'

export interface ErrorDetails extends ErrorOptions {
  /** seconds after which repeating the request makes sense */
  retryAfter?: number
  /** precise reason for administrators: goes to the audit log, never to the caller */
  reason?: Record<string, unknown>
}

/**
 * A failing answer, thrown at the edges. The message may reach the caller; `cause` reaches only the log,
 * `reason` only the audit log.
 */
export class ApiError extends Error {
  readonly code: Code
  readonly retryAfter: number | undefined
  readonly reason: Record<string, unknown> | undefined
  constructor(code: Code, message = '', details: ErrorDetails = {}) {
    super(message, details)
    this.name = 'ApiError'
    this.code = code
    this.retryAfter = details.retryAfter
    this.reason = details.reason
  }
}

/** Why a token is none, or no longer one: its holder has to get another. Every other denial leaves it as it is. */
const NO_TOKEN: readonly string[] = [
  'token-unknown',
  'token-expired',
  'token-spent',
  'mount-gone',
  'parent-gone',
  'operation-token-unknown',
  'batch-token-root',
  'batch-token-unreadable',
  'batch-token-unsigned',
  'term-retired',
]

/** A denial. @param why goes to the audit log */
export const denial = (why: string): ApiError =>
  new ApiError(NO_TOKEN.includes(why) ? 'invalid_token' : 'permission_denied', '', { reason: { why } })

/** A row of a table of refusals: what is wrong, and what to do next. */
export const refused = (code: Code, wrong: string, next: string, details?: ErrorDetails): ApiError =>
  new ApiError(code, `${wrong}; ${next}`, details)

/** The error for faulty input; the text says what the caller has to change. */
export const invalid = (message: string, details?: ErrorDetails): ApiError =>
  new ApiError('invalid_request', message, details)

/** A verdict of the rules that says no: a value, thrown in one place per flow. */
export interface Refusal {
  code: 'invalid_request' | 'permission_denied'
  /** stable name of the rule, a dimension of metrics and a key of the audit log */
  why: string
  /** what the caller reads */
  text: string
}

export const refusal = (why: string, text: string, code: Refusal['code'] = 'invalid_request'): Refusal => ({
  code,
  why,
  text,
})
