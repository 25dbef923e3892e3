/** A success, with its value. */
export interface Ok<T> {
  readonly ok: true
  readonly value: T
}

/** A failure, with its fault. */
export interface Failed<F> {
  readonly ok: false
  readonly fault: F
}

/** The result of a function whose failures the caller handles. */
export type Result<T, F> = Ok<T> | Failed<F>

const NOTHING: Ok<undefined> = Object.freeze({ ok: true, value: undefined })

/** Returns a success; all successes without a value are one frozen object, because hot paths return them. */
export function ok(): Ok<undefined>
export function ok<const T>(value: T): Ok<T>
export function ok(value?: unknown): Ok<unknown> {
  return value === undefined ? NOTHING : { ok: true, value }
}

/** Returns a failure. */
export const failed = <const F>(fault: F): Failed<F> => ({ ok: false, fault })

/** An item has changed since it was read. The caller must read it again and decide again. */
export const CONFLICT: Failed<'conflict'> = Object.freeze(failed('conflict'))

/** The awaited event has not happened yet. */
export const PENDING: Failed<'pending'> = Object.freeze(failed('pending'))
