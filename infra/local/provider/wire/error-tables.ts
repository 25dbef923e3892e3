import type { AwsError, AwsErrorKind } from './errors.ts'

/**
 * HTTP status and code of each shared kind of error in one group of services. `message` replaces the given
 * text.
 */
type ErrorTable = Record<AwsErrorKind, { status: number; code: string; message?: string }>

/** STS and IAM ("Common errors" of their API references). */
export const queryErrorTable: ErrorTable = {
  unsigned: { status: 403, code: 'MissingAuthenticationToken' },
  incomplete: { status: 400, code: 'IncompleteSignature' },
  'unknown-key': { status: 403, code: 'InvalidClientTokenId' },
  'bad-signature': { status: 403, code: 'SignatureDoesNotMatch' },
  'stale-signature': { status: 403, code: 'SignatureDoesNotMatch' },
  'expired-token': { status: 403, code: 'ExpiredToken' },
  denied: { status: 403, code: 'AccessDenied' },
  throttled: { status: 400, code: 'Throttling', message: 'Rate exceeded' },
  internal: { status: 500, code: 'InternalFailure' },
  'unknown-action': { status: 400, code: 'InvalidAction' },
}

const notValidated = 'AWS was not able to validate the provided access credentials'

/**
 * Errors of EC2, which does not say why it refused credentials and has its own codes for all other errors.
 */
export const ec2ErrorTable: ErrorTable = {
  unsigned: { status: 403, code: 'MissingAuthenticationToken' },
  incomplete: { status: 400, code: 'IncompleteSignature' },
  'unknown-key': { status: 401, code: 'AuthFailure', message: notValidated },
  'bad-signature': { status: 401, code: 'AuthFailure', message: notValidated },
  'stale-signature': { status: 400, code: 'RequestExpired', message: 'Request has expired.' },
  'expired-token': { status: 400, code: 'RequestExpired', message: 'Request has expired.' },
  denied: { status: 403, code: 'UnauthorizedOperation' },
  throttled: { status: 503, code: 'RequestLimitExceeded', message: 'Request limit exceeded.' },
  internal: { status: 500, code: 'InternalError', message: 'An internal error has occurred' },
  'unknown-action': { status: 400, code: 'InvalidAction' },
}

/** Services of the JSON 1.1 protocol (KMS, CloudWatch Logs, EventBridge). */
export const jsonErrorTable: ErrorTable = {
  unsigned: { status: 400, code: 'MissingAuthenticationTokenException' },
  incomplete: { status: 400, code: 'IncompleteSignatureException' },
  'unknown-key': { status: 400, code: 'UnrecognizedClientException' },
  'bad-signature': { status: 400, code: 'InvalidSignatureException' },
  'stale-signature': { status: 400, code: 'InvalidSignatureException' },
  'expired-token': { status: 400, code: 'ExpiredTokenException' },
  denied: { status: 400, code: 'AccessDeniedException' },
  throttled: { status: 400, code: 'ThrottlingException', message: 'Rate exceeded' },
  internal: { status: 500, code: 'InternalFailure' },
  'unknown-action': { status: 400, code: 'UnknownOperationException' },
}

/** Returns status, code and message of an error in one family of services. */
export function findStatusAndCode(
  error: AwsError,
  errors: ErrorTable,
): { status: number; code: string; message: string } {
  if (typeof error.reason === 'object') return { ...error.reason, message: error.message }
  return { message: error.message, ...errors[error.reason] }
}
