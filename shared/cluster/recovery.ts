import { hkdfSync, timingSafeEqual } from 'node:crypto'
import type { RecoveryKey } from '../model/cluster.ts'
import { sameSecret } from '../values/secret.ts'
import { combineShares, type Division, splitIntoShares } from './shares.ts'

/*
 * Recovery shares authorise and decrypt nothing, so nobody needs the key that they make together: what verifies it is
 * stored, and a hash of each share. @see docs/spec/keys.md#recovery-shares
 */

const KEY_BYTES = 32
const HASH_BYTES = 32

/** Both hash 128 bits of chance or more, so that neither can be guessed from what it comes to. */
const hashFor = (secret: Uint8Array, purpose: string): string =>
  Buffer.from(hkdfSync('sha256', secret, '', `cloud-auth ${purpose}`, HASH_BYTES)).toString('base64url')

/** By what a recovery key is known again, base64url. */
export const verifierOf = (key: Uint8Array): string => hashFor(key, 'verifier of a recovery key')

/** By what a recovery share is known again, base64url. */
export const hashShare = (share: Uint8Array): string => hashFor(share, 'hash of a recovery share')

/** Reports whether a share is of the set. All hashes are compared, wherever it stands. */
export const isShareOf = ({ shareHashes }: Pick<RecoveryKey, 'shareHashes'>, share: Uint8Array): boolean => {
  const own = Buffer.from(hashShare(share), 'base64url')
  return shareHashes.filter(one => timingSafeEqual(Buffer.from(one, 'base64url'), own)).length > 0
}

/**
 * Checks that shares, each of which is of the set, make the recovery key.
 * @param shares hex, as many as are needed
 * @throws Error when they do not: then the stored item has hashes of another key's shares
 */
export function checkShares(shares: readonly string[], { verifier }: Pick<RecoveryKey, 'verifier'>): void {
  const made = combineShares(shares)
  if (!made || !sameSecret(verifier, verifierOf(made)))
    throw new Error('the stored recovery key contradicts itself: its shares do not make it')
}

interface RecoveryKeyInput {
  /** bytes by their number */
  random: (length: number) => Buffer
  /** epoch milliseconds */
  now: number
  /** lower-case hex, one for each share */
  pgpFingerprints?: readonly string[]
}

/** A key of chance in shares, and what is stored of it. The key itself is not kept. */
export function newRecoveryKey(
  division: Division,
  { random, now, pgpFingerprints }: RecoveryKeyInput,
): { item: RecoveryKey; shares: Buffer[] } {
  const key = random(KEY_BYTES)
  const shares = splitIntoShares(key, division, random)
  const { shares: count, threshold } = division
  const item: RecoveryKey = {
    shares: count,
    threshold,
    since: now,
    verifier: verifierOf(key),
    shareHashes: shares.map(hashShare),
    ...(pgpFingerprints ? { pgpFingerprints } : {}),
  }
  return { item, shares }
}
