/**
 * Kinds of errors that all AWS services share. Each kind has its own status and code per service
 * (`error-tables.ts`).
 */
export type AwsErrorKind =
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
export interface AwsErrorText {
  kind: AwsErrorKind
  message: string
}

/** Creates an error value. */
export const createErrorText = (kind: AwsErrorKind, message: string): AwsErrorText => ({ kind, message })

/**
 * The error that handlers of actions throw and that the service's protocol renders. `reason` is a kind that
 * all services share, or the action's own status and code.
 */
export class AwsError extends Error {
  readonly reason: AwsErrorKind | { status: number; code: string }

  constructor(reason: AwsErrorKind | { status: number; code: string }, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Creates an error of one action, with the status and code that AWS documents. */
export const awsError = (status: number, code: string, message: string): AwsError =>
  new AwsError({ status, code }, message)
