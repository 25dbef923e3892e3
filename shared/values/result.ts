/** A success, with its value. */
export interface OkResult<T> {
  readonly ok: true
  readonly value: T
}

/** A failure, with its fault. */
export interface FailedResult<F> {
  readonly ok: false
  readonly fault: F
}

/** The result of a function whose failures the caller handles. */
export type Result<T, F> = OkResult<T> | FailedResult<F>

const NOTHING: OkResult<undefined> = Object.freeze({ ok: true, value: undefined })

/** Returns a success; all successes without a value are one frozen object, because hot paths return them. */
export function ok(): OkResult<undefined>
export function ok<const T>(value: T): OkResult<T>
export function ok(value?: unknown): OkResult<unknown> {
  return value === undefined ? NOTHING : { ok: true, value }
}

/** Returns a failure. */
export const failed = <const F>(fault: F): FailedResult<F> => ({ ok: false, fault })

/** An item has changed since it was read. The caller must read it again and decide again. */
export const CONFLICT_RESULT: FailedResult<'conflict'> = Object.freeze(failed('conflict'))

/** The awaited event has not happened yet. */
export const PENDING_RESULT: FailedResult<'pending'> = Object.freeze(failed('pending'))
