/** What a service answered instead of a result. `name` is its own code, as in AWS's references. */
export class ServiceError extends Error {
  readonly $metadata: { readonly httpStatusCode: number }
  /** milliseconds after which the service wants to be asked again */
  readonly retryAfterMs: number | undefined
  /** members of the answer beside code and message, in the service's terms */
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

/** An answer that is not what the service gives: what was asked may have been done. */
export const unreadableAnswer = (what: string, status = 200): ServiceError =>
  new ServiceError('UnreadableAnswer', what, { status })
