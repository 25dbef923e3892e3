import { ApiError } from '../api/errors.ts'
import type { ClusterRecord } from '../model/cluster.ts'
import type { FieldCipher } from '../ports.ts'
import { versionIn } from '../storage/encryption.ts'
import { key } from '../storage/kinds.ts'

/** The keyring as KMS has just opened it: the term that encrypts, or why it does not open. */
export type OpenedKeyring = { term: number | undefined } | { fault: string }

/** Has KMS unwrap the keyring anew: one that is remembered proves nothing. One call of KMS. */
export async function openKeyring(
  cipher: Pick<FieldCipher, 'expect' | 'encrypt'>,
  record: Pick<ClusterRecord, 'keyring' | 'term' | 'edition'>,
): Promise<OpenedKeyring> {
  cipher.expect({ keyring: '', term: 0 })
  cipher.expect(record)
  try {
    return { term: versionIn(await cipher.encrypt(key('cluster'), 'probe', 'probe')) }
  } catch (error) {
    const cause = error instanceof ApiError ? error.cause : error
    return { fault: `KMS: ${cause instanceof Error ? cause.name : 'it does not decrypt'}` }
  }
}
