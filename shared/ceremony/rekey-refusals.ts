import { type ApiError, refused } from '../api/errors.ts'

/* Errors that only rekeying returns. refusals.ts contains those that it shares with other ceremonies. */

const AT = 'sys/rotate/recovery'

/** @param nonce nonce of the verification */
export const verificationRequired = (nonce: string): ApiError =>
  refused(
    'invalid_request',
    `rekey operation already finished; verification must be performed; nonce for the verification operation is "${nonce}"`,
    `give shares of the new key by POST ${AT}/verify`,
  )

export const nothingToVerify = (): ApiError =>
  refused(
    'invalid_request',
    'no rekey verification in progress',
    `one begins when enough shares of the present key were given by POST ${AT}/update, and only where require_verification was asked for`,
  )

export const wrongPgpKeyCount = (): ApiError =>
  refused(
    'invalid_request',
    'incorrect number of PGP keys for rekey',
    'pgp_keys must name one key for each of secret_shares, or none',
  )

export const noUnsealKeys = (): ApiError =>
  refused(
    'invalid_request',
    'KMS keeps the keys of this cluster: there are no unseal keys, and no root key that shares protect',
    `the recovery key is made anew by ${AT}/init, or without a token by sys/rekey-recovery-key/init; terms of the keyring by sys/rotate`,
  )

export const noBackups = (): ApiError =>
  refused(
    'invalid_request',
    'backup is not supported: this service keeps no shares, encrypted or not',
    'have the holders keep what the rekeying answers, and ask for require_verification, so that the old shares count until the new ones were given',
  )
