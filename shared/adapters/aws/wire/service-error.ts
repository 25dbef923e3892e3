/** A service's error answer. `name` is the service's own code, as in AWS's references. */
export class AwsServiceError extends Error {
  readonly $metadata: { readonly httpStatusCode: number }
  /** `retryAfterMs`: milliseconds after which the service requests a retry */
  readonly retryAfterMs: number | undefined
  /** members of the answer other than code and message */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    name: string,
    message: string,
    { status, retryAfterMs, said = {} }: { status: number; retryAfterMs?: number; said?: object },
  ) {
    super(message)
    this.name = name
    this.$metadata = { httpStatusCode: status }
    this.retryAfterMs = retryAfterMs
    this.details = { ...said }
  }
}

/**
 * Returns the error for an answer that AWS itself would never give. A request with such an answer may have taken
 * effect.
 */
export const unreadableAnswerError = (what: string, status = 200): AwsServiceError =>
  new AwsServiceError('UnreadableAnswer', what, { status })
