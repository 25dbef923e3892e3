import type { ClusterRecord } from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import type { Entropy, FieldCipher } from '../../ports.ts'
import { type Change, createItem, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { encodeBase62 } from '../../values/base62.ts'
import { defined } from '../../values/defined.ts'
import { Secret, sha256 } from '../../values/secret.ts'
import {
  generateSignerKey,
  makeActivationJwt,
  parseSignerKey,
  sealActivationToken,
} from '../activation-token.ts'
import { formatLinkPublicKeys, type LinkKeyPairs, linkPublicKeysOf, parseLinkPublicKeys } from '../pair.ts'
import { isSecondaryOfCurrentEpoch } from './secondaries.ts'

/** Random bytes of a token's one-use part. 168 bits are enough to store it as a plain SHA-256. */
const JTI_BYTES = 21
const JTI_LENGTH = 29

/** The parameters of a new activation token. */
export interface ActivationTokenRequest {
  /** name of the secondary */
  id: string
  /** UUID of the DR set */
  set: string
  /** address at which the secondary will reach this cluster */
  address: string
  /** milliseconds for which the token may be used */
  ttl: number
  /** `publicKey` is the public key that the secondary has shown; absent: any cluster may read the token and use it */
  publicKey?: string
  /** `epoch` of this cluster's own journal */
  epoch: string
  /** epoch milliseconds */
  now: number
}

/** The items on which a new activation token depends. `activationTokenItemKeys` returns the keys of these items. */
export interface ActivationTokenItems {
  secondary: Item<'secondary'> | undefined
  tokenKey: Item<'token-key'> | undefined
}

/** Returns the keys of the items to read before a token is made. */
export const activationTokenItemKeys = (id: string) => [key('secondary', id), key('token-key')] as const

/** Reports whether a name is taken: a token was made for this name in this epoch, used or not, and was not revoked. */
export const isSecondaryNameTaken = (
  { secondary }: ActivationTokenItems,
  record: Pick<ClusterRecord, 'epoch'>,
): boolean =>
  secondary !== undefined &&
  secondary.data.revokedAt === undefined &&
  isSecondaryOfCurrentEpoch(secondary.data, record)

/**
 * Makes an activation token, and the changes that must be committed before the token is valid. The cluster does not
 * store the activation token: only the answer contains it.
 */
export async function makeActivationToken(
  { id, set, address, ttl, publicKey, epoch, now }: ActivationTokenRequest,
  items: ActivationTokenItems,
  pair: LinkKeyPairs,
  { cipher, entropy }: { cipher: Pick<FieldCipher, 'decrypt' | 'encrypt'>; entropy: Entropy },
): Promise<{ token: Secret; expires: number; changes: Change[] }> {
  const signer = await readOrMakeSigner(items.tokenKey, cipher)
  const jti = encodeBase62(entropy.bytes(JTI_BYTES), JTI_LENGTH)
  const expires = now + ttl
  const jwt = makeActivationJwt(parseSignerKey(signer.text), {
    jti,
    addr: address,
    id,
    set,
    iat: Math.floor(now / 1000),
    exp: Math.floor(expires / 1000),
    primaryKey: linkPublicKeysOf(pair).signing.toString('base64url'),
    exchangeKey: linkPublicKeysOf(pair).exchange.toString('base64url'),
  })
  const keys = publicKey === undefined ? undefined : parseLinkPublicKeys(publicKey)
  const secondary: Secondary = defined({
    id,
    createdAt: now,
    expires,
    jti: hashJti(jti),
    lastCallTime: 0,
    address: '',
    apiAddress: '',
    version: '',
    publicKey: keys ? formatLinkPublicKeys(keys) : undefined,
    epoch,
    previousClusters: listPreviousClusters(items.secondary?.data),
  })
  const token = keys ? sealActivationToken(keys.exchange, jwt, entropy.bytes) : jwt
  const place = key('secondary', id)
  return {
    token: new Secret(token),
    expires,
    changes: [...signer.changes, replaceItem(place, items.secondary, secondary)],
  }
}

const MOST_PREVIOUS = 8

/** Returns the clusters that had the name in an earlier epoch, at most eight. */
function listPreviousClusters(before: Secondary | undefined): Secondary['previousClusters'] {
  const { cluster, publicKey, revokedAt, previousClusters: previous = [] } = before ?? {}
  const last = cluster && publicKey && revokedAt === undefined ? [{ cluster, publicKey }] : []
  const all = [...previous, ...last].slice(-MOST_PREVIOUS)
  return all.length > 0 ? all : undefined
}

/** Returns the hash of a token's one-use part in its stored form. */
export const hashJti = (jti: string): string => sha256(jti).toString('base64url')

/** Returns the key that signs activation tokens. The first activation token creates the signing key. */
async function readOrMakeSigner(
  item: Item<'token-key'> | undefined,
  cipher: Pick<FieldCipher, 'decrypt' | 'encrypt'>,
): Promise<{ text: string; changes: Change[] }> {
  const place = key('token-key')
  if (item) return { text: (await cipher.decrypt(place, 'key', item.data.key)).reveal(), changes: [] }
  const text = generateSignerKey()
  return { text, changes: [createItem(place, { key: await cipher.encrypt(place, 'key', text) })] }
}
