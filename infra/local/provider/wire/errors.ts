/** Reasons for refusing that every service has, each under its own status and code (`error-tables.ts`). */
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

/** A refusal as a value: its kind, and what it says. */
export interface ErrorText {
  kind: ErrorKind
  message: string
}

/** Builds one. */
export const errorText = (kind: ErrorKind, message: string): ErrorText => ({ kind, message })

/**
 * Thrown by action handlers; the service's protocol turns it into an error answer.
 * `reason` is either a kind that all services share or the action's own status and code.
 */
export class AwsError extends Error {
  readonly reason: ErrorKind | { status: number; code: string }

  constructor(reason: ErrorKind | { status: number; code: string }, message: string) {
    super(message)
    this.reason = reason
  }
}

/** An error of one action, with the status and code AWS documents for it. */
export const awsError = (status: number, code: string, message: string): AwsError =>
  new AwsError({ status, code }, message)
