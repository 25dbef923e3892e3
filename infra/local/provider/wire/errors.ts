/** Kinds of errors that all services share, each with its own status and code per service (`error-tables.ts`). */
export type ErrorKind =
  | 'unsigned'
  | 'incomplete'
  | 'unknown-key'
  | 'bad-signature'
  | 'stale-signature'
  | 'expired-token'
  | 'denied'
  | 'throttled'
  | 'internal'
  | 'unknown-action'

/** An error as a value. */
export interface ErrorText {
  kind: ErrorKind
  message: string
}

/** Creates an error value. */
export const errorText = (kind: ErrorKind, message: string): ErrorText => ({ kind, message })

/**
 * Thrown by action handlers and rendered by the service's protocol. `reason` is a kind that all services share, or
 * the action's own status and code.
 */
export class AwsError extends Error {
  readonly reason: ErrorKind | { status: number; code: string }

  constructor(reason: ErrorKind | { status: number; code: string }, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Creates an error of one action, with the status and code that AWS documents. */
export const awsError = (status: number, code: string, message: string): AwsError =>
  new AwsError({ status, code }, message)
