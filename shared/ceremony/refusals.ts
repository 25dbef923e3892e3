import { ApiError, createApiError, invalidRequestError } from '../api/errors.ts'
import type { CeremonyPurpose } from '../model/ceremony.ts'
import { TOKEN_TEXT_LENGTH } from '../model/token.ts'
import { type DeclareError, declareError } from '../values/declare-error.ts'

/*
 * Errors of ceremonies and operation tokens: what is wrong, and what to do next. A file of its own, because most
 * functions load only this part.
 */

/** Declares the refusal of an invalid request. */
const declareInvalid: DeclareError<ApiError> = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => invalidRequestError(message), wrong, next)

export const operationTokenMissingError = declareInvalid(
  'dr_operation_token is required',
  'generate a token from recovery shares by POST sys/replication/dr/secondary/generate-operation-token/attempt, or give a batch token that was made on the primary and whose policies allow `update` on this path',
)

export const operationTokenTypeError = declareInvalid(
  'dr_operation_token is not a string',
  'give the token as a JSON string',
)

/** No term of the keyring decrypts the batch token. */
export const unknownTermError = (): ApiError =>
  createApiError(
    'unknown_term',
    'permission denied: no key of this cluster decrypts this batch token: the token is from another DR set, or was made after a keyring rotation that this cluster has not fetched yet',
    'make an operation token on this cluster from recovery shares, by POST sys/replication/dr/secondary/generate-operation-token/attempt',
    { reason: { why: 'operation-token-term-unknown' } },
  )

export const batchTokenNotRevocableError = declareInvalid(
  'a batch token cannot be revoked',
  'the batch token expires by its ttl; to end the token earlier, remove `update` on this path from its policies on the primary',
)

const names: Record<CeremonyPurpose, string> = {
  root: 'root generation',
  operation: 'generation of a DR operation token',
  rekey: 'rekey',
  verification: 'rekey verification',
}

const paths: Record<CeremonyPurpose, string> = {
  root: 'sys/generate-root/attempt',
  operation: 'sys/replication/dr/secondary/generate-operation-token/attempt',
  // the only one of the rekey paths that is available in every deployment to callers with a token
  rekey: 'sys/rotate/recovery/init',
  verification: 'sys/rotate/recovery/init',
}

export const attemptInProgressError = declareInvalid(
  (purpose: CeremonyPurpose) => `${names[purpose]} already in progress`,
  purpose => `continue the running attempt, or cancel it by DELETE ${paths[purpose]}`,
)

/** An anonymous caller tries to cancel a protected attempt. */
export const anonymousCancelError = (purpose: CeremonyPurpose): ApiError =>
  createApiError(
    'permission_denied',
    'an attempt that has received a share, or was started with a token, cannot be cancelled without a token',
    `send a token whose policies allow \`delete\` on ${paths[purpose]}, or wait: the attempt expires after an hour without a share`,
  )

export const noAttemptError = declareInvalid(
  (purpose: CeremonyPurpose) => `no ${names[purpose]} in progress`,
  purpose => `start an attempt by POST ${paths[purpose]}`,
)

export const wrongNonceError = declareInvalid(
  'incorrect nonce supplied',
  (purpose: CeremonyPurpose, nonce: string) => `nonce for this ${names[purpose]} operation is "${nonce}"`,
)

/** @param purpose purpose of the attempt that is running */
export const otherAttemptError = declareInvalid(
  'an attempt of another kind is in progress',
  (purpose: CeremonyPurpose) => `cancel the running attempt by DELETE ${paths[purpose]}`,
)

export const duplicateShareError = declareInvalid(
  'given key has already been provided during this generation operation',
  'submit another share',
)

export const unknownShareError = (): ApiError =>
  createApiError(
    'invalid_request',
    'given key is not a recovery share of this cluster',
    'the attempt is unchanged; submit one of the most recently issued shares',
    { reason: { why: 'recovery-shares' } },
  )

/** @param wait seconds */
export const tooManyAttemptsError = (wait: number): ApiError =>
  new ApiError('too_many_requests', 'too many attempts; try again later', { retryAfter: wait })

export const otpLengthError = declareInvalid(
  `otp must have ${TOKEN_TEXT_LENGTH} bytes, as many as the token that it masks`,
  'omit otp to get a generated one-time password',
)

export const invalidMaskedTokenError = declareInvalid(
  'encoded_token and otp do not match',
  'encoded_token must be unpadded base64 that decodes to as many bytes as otp has: send both values as they were returned',
)
