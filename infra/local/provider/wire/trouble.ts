/** Reasons for refusing that every service has, each under its own status and code (`wording.ts`). */
export type Trouble =
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

/** A refusal as a value. */
export interface Refusal {
  trouble: Trouble
  message: string
}

/** Builds a {@link Refusal}. */
export const refusal = (trouble: Trouble, message: string): Refusal => ({ trouble, message })

/**
 * Thrown by action handlers; the service's protocol turns it into an error answer.
 * `reason` is either a trouble all services share or the action's own status and code.
 */
export class AwsError extends Error {
  readonly reason: Trouble | { status: number; code: string }

  constructor(reason: Trouble | { status: number; code: string }, message: string) {
    super(message)
    this.reason = reason
  }
}

/** An error of one action, with the status and code AWS documents for it. */
export const awsError = (status: number, code: string, message: string): AwsError =>
  new AwsError({ status, code }, message)
