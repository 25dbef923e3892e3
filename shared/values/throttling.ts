/** Error codes by which AWS's services say that they are asked too often. */
const CODES = [
  'RequestLimitExceeded',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]

/** Whether an error code of AWS means that the same request may succeed later. */
export const isThrottling = (code: string | undefined): boolean => code !== undefined && CODES.includes(code)
