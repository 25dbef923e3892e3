/** AWS error codes for throttled requests. */
const CODES = [
  'RequestLimitExceeded',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]

/** Reports whether an AWS error code means that a retry may succeed later. */
export const isThrottlingCode = (code: string | undefined): boolean =>
  code !== undefined && CODES.includes(code)
