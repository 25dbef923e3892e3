import { ApiError } from '../api/errors.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import type { FieldCipher } from '../ports.ts'
import { termNumberOf } from '../storage/encryption.ts'
import { key } from '../storage/kinds.ts'
import { failed, ok, type Result } from '../values/result.ts'

/** The current encrypting term, or why KMS cannot unwrap the keyring. */
export type KeyringOpenResult = Result<number | undefined, string>

/** Unwraps the keyring with one call to KMS, because a cached keyring proves nothing. */
export async function tryOpenKeyring(
  cipher: Pick<FieldCipher, 'expectKeyring' | 'encrypt'>,
  record: Pick<ClusterRecord, 'keyring' | 'keyringEdition'>,
): Promise<KeyringOpenResult> {
  cipher.expectKeyring({ keyring: '', keyringEdition: 0 })
  cipher.expectKeyring(record)
  try {
    return ok(termNumberOf(await cipher.encrypt(key('cluster'), 'probe', 'probe')))
  } catch (error) {
    const cause = error instanceof ApiError ? error.cause : error
    return failed(`KMS: ${cause instanceof Error ? cause.name : 'the decryption failed'}`)
  }
}
