import { type ApiError, invalidRequestError } from '../api/errors.ts'
import { type DeclareError, declareError } from '../values/declare-error.ts'

/* Errors that only rekeying returns; refusals.ts contains the errors that it shares with other ceremonies. */

/** Declares the refusal of an invalid request. */
const declareInvalid: DeclareError<ApiError> = /* @__NO_SIDE_EFFECTS__ */ (wrong, next) =>
  declareError(message => invalidRequestError(message), wrong, next)

const AT = 'sys/rotate/recovery'

/** @param nonce nonce of the verification */
export const verificationRequiredError = declareInvalid(
  (nonce: string) =>
    `rekey operation already finished; verification must be performed; nonce for the verification operation is "${nonce}"`,
  `submit shares of the new key by POST ${AT}/verify`,
)

export const noVerificationError = declareInvalid(
  'no rekey verification in progress',
  `a verification starts when enough shares of the current key were submitted by POST ${AT}/update, and only if the rekey was started with require_verification`,
)

export const pgpKeyCountError = declareInvalid(
  'incorrect number of PGP keys for rekey',
  'pgp_keys must contain one key for each share (secret_shares), or be empty',
)

export const noUnsealKeysError = declareInvalid(
  'KMS holds the keys of this cluster, so there are neither unseal keys nor a root key protected by shares',
  `to replace the recovery key use ${AT}/init, or sys/rekey-recovery-key/init without a token; to rotate the keyring use sys/rotate`,
)

export const backupUnsupportedError = declareInvalid(
  'backup is not supported: this service keeps no shares, encrypted or not',
  'let the holders keep the shares from the response; set require_verification to keep the old shares valid until holders submit the new shares',
)
