import { createHash } from 'node:crypto'
import type { Mount } from '../../../shared/model/mount.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import type { SealedToken } from '../../../shared/ports.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { signBatchToken, splitSignedBatchToken } from '../../../shared/storage/signed-batch.ts'
import { exportRawPublicKey, privateKeyFromSeed } from '../../../shared/values/raw-keys.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'

/** 2027-01-15T08:00:00.250Z */
export const NOW = 1_800_000_000_250

/** Builds a stored service token with the given parts. */
export const token = (parts: Partial<Token> = {}): Token => ({
  type: 'service',
  hash: tokenHashOf('hvs.parent'),
  path: 'auth/cloud/login',
  displayName: 'cloud-dev',
  policies: ['default', 'dev'],
  meta: null,
  depth: 0,
  numUses: 0,
  renewable: true,
  createdAt: NOW - 10_000,
  ttl: 3600,
  creationTtl: 3600,
  explicitMaxTtl: 0,
  period: 0,
  boundCidrs: [],
  ...parts,
})

export const rootToken = token({ policies: ['root'], ttl: 0, creationTtl: 0, path: 'auth/token/root' })

/** Builds a caller with a token. */
export const parentOf = (own: Token) => ({
  token: own,
  accessor: own.type === 'batch' ? '' : accessorOfHash(own.hash),
})

export const mount = (parts: Partial<Mount> = {}): Mount => ({
  path: 'cloud',
  type: 'cloud',
  accessor: 'auth_cloud_1',
  uuid: 'uuid-1',
  description: '',
  defaultLeaseTtl: 0,
  maxLeaseTtl: 0,
  tokenType: 'default-service',
  options: {},
  ...parts,
})

const batchSigner = privateKeyFromSeed('Ed25519', Buffer.alloc(32, 7))

/** Builds a batch token as the cipher decrypts it, signed by the signer of `sealingTerm`. */
export function sealedBatch(content: string): SealedToken {
  const parts = splitSignedBatchToken(signBatchToken(batchSigner, content))
  if (!parts) throw new Error('a signed batch token has two parts')
  return { ...parts, term: 'identity' }
}

/** The term that encrypts batch tokens. */
export const sealingTerm: Item<'term'> = item(
  key('term', 'identity'),
  {
    number: 1,
    since: 0,
    probe: '1.x' as EncryptedText,
    signers: [{ cluster: 'c', name: 'c', key: exportRawPublicKey(batchSigner).toString('base64') }],
  },
  'r',
)

/** A cipher that does not encrypt, so that tests can read its results. */
export const clearCipher = portsWith({
  cipher: {
    encrypt: async (_: unknown, field: string, text: string) => `encrypted ${field} ${text}`,
    encryptToken: async (content: string) => Buffer.from(content).toString('base64url'),
    decryptToken: async (text: string) => sealedBatch(Buffer.from(text, 'base64url').toString('utf8')),
    hmac: async (text: string) => `hmac ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`,
  },
}).cipher
