import { type ApiError, createApiError } from '../api/errors.ts'

/* Errors that only rekeying returns. refusals.ts contains those that it shares with other ceremonies. */

const AT = 'sys/rotate/recovery'

/** @param nonce nonce of the verification */
export const verificationRequiredError = (nonce: string): ApiError =>
  createApiError(
    'invalid_request',
    `rekey operation already finished; verification must be performed; nonce for the verification operation is "${nonce}"`,
    `submit shares of the new key by POST ${AT}/verify`,
  )

export const noVerificationError = (): ApiError =>
  createApiError(
    'invalid_request',
    'no rekey verification in progress',
    `a verification starts when enough shares of the current key were submitted by POST ${AT}/update, and only if the rekey was started with require_verification`,
  )

export const pgpKeyCountError = (): ApiError =>
  createApiError(
    'invalid_request',
    'incorrect number of PGP keys for rekey',
    'pgp_keys must name one key for each of secret_shares, or none',
  )

export const noUnsealKeysError = (): ApiError =>
  createApiError(
    'invalid_request',
    'KMS holds the keys of this cluster, so there are neither unseal keys nor a root key protected by shares',
    `to replace the recovery key use ${AT}/init, or sys/rekey-recovery-key/init without a token; to rotate the keyring use sys/rotate`,
  )

export const backupUnsupportedError = (): ApiError =>
  createApiError(
    'invalid_request',
    'backup is not supported: this service keeps no shares, encrypted or not',
    'let the holders keep the shares of the response, and set require_verification, so that the old shares stay valid until the new ones were submitted',
  )
