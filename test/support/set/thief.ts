import { randomBytes } from 'node:crypto'
import { deriveTermKeys, encryptBatchToken, GCM_NONCE_LENGTH } from '../../../shared/storage/encryption.ts'
import { activeKeyringTerm, type KeyringKeys, openKeyringEnvelope } from '../../../shared/storage/keyring.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { signBatchToken } from '../../../shared/storage/signed-batch.ts'
import { privateKeyFromSeed } from '../../../shared/values/raw-keys.ts'
import type { SetMember } from './member.ts'

/**
 * Returns all keys of a cluster, as a thief with the cluster's tables and the use of its KMS key can read
 * them.
 */
export async function keysOf({ ports, kms }: SetMember): Promise<KeyringKeys> {
  const [keyring] = await ports.store.read([key('keyring')])
  if (!keyring) throw new Error('no keyring')
  return openKeyringEnvelope(await kms.unwrap(keyring.data), keyring.data.id, keyring.data.keys)
}

/**
 * Forges a batch token with any content, as a thief with stolen keys can.
 * @param given `now`: epoch milliseconds; `sign`: with the stolen signer, with a signer of the thief, or not
 * at all
 */
export function forgedToken(
  keys: KeyringKeys,
  policies: readonly string[],
  { now, sign = 'own' }: { now: number; sign?: 'own' | 'none' },
): string {
  const content = JSON.stringify({
    type: 'batch',
    hash: '',
    path: 'auth/token/create',
    displayName: 'thief',
    policies,
    meta: null,
    depth: 0,
    renewable: false,
    createdAt: now,
    ttl: 1e9,
    creationTtl: 1e9,
    boundCidrs: [],
    numUses: 0,
    explicitMaxTtl: 0,
    period: 0,
  })
  const { number, key: text } = activeKeyringTerm(keys)
  const own = privateKeyFromSeed(
    'Ed25519',
    keys.signer ? Buffer.from(keys.signer.seed, 'base64') : randomBytes(32),
  )
  const sealed = encryptBatchToken(
    deriveTermKeys(number, Buffer.from(text, 'base64')),
    sign === 'own' ? signBatchToken(own, content) : content,
    randomBytes(GCM_NONCE_LENGTH),
  )
  return `hvb.${sealed}`
}
