import { hkdfSync, timingSafeEqual } from 'node:crypto'
import type { RecoveryKey } from '../model/cluster.ts'
import { secretsEqual } from '../values/secret.ts'
import { combineShares, type ShareDivision, splitIntoShares } from './shares.ts'

/*
 * Recovery shares authorise requests and decrypt nothing, so no component needs the key into which they combine.
 * The cluster stores only a verifier of that key, and a hash of each share. @see docs/spec/keys.md#recovery-shares
 */

const KEY_BYTES = 32
const HASH_BYTES = 32

/**
 * Hashes a recovery key or share for one purpose. Keys and shares have at least 128 random bits, so nobody can
 * guess them from their hashes.
 */
const hashFor = (secret: Uint8Array, purpose: string): string =>
  Buffer.from(hkdfSync('sha256', secret, '', `cloud-auth ${purpose}`, HASH_BYTES)).toString('base64url')

/** Returns the stored value that verifies a recovery key, base64url. */
export const recoveryKeyVerifier = (key: Uint8Array): string => hashFor(key, 'verifier of a recovery key')

/** Returns the hash of a recovery share, base64url. */
export const hashRecoveryShare = (share: Uint8Array): string => hashFor(share, 'hash of a recovery share')

/**
 * Reports whether a share belongs to the recovery key. The comparison covers all hashes, so that its time does not
 * show which share was given.
 */
export const isShareOf = ({ shareHashes }: Pick<RecoveryKey, 'shareHashes'>, share: Uint8Array): boolean => {
  const own = Buffer.from(hashRecoveryShare(share), 'base64url')
  return shareHashes.filter(one => timingSafeEqual(Buffer.from(one, 'base64url'), own)).length > 0
}

/**
 * Checks that shares of the recovery key combine into this key.
 * @param shares hex, exactly as many as the threshold
 * @throws Error if the shares do not combine: the stored hashes are of another key's shares
 */
export function checkRecoveryShares(
  shares: readonly string[],
  { verifier }: Pick<RecoveryKey, 'verifier'>,
): void {
  const made = combineShares(shares)
  if (!made || !secretsEqual(verifier, recoveryKeyVerifier(made)))
    throw new Error('the stored recovery key is inconsistent: its shares do not combine into the key')
}

interface RecoveryKeyInput {
  /** `random` returns the requested number of random bytes */
  random: (length: number) => Buffer
  /** epoch milliseconds */
  now: number
  /** lower-case hex, one for each share */
  pgpFingerprints?: readonly string[]
}

/**
 * Makes a random recovery key. Returns the shares of the recovery key, and the item to store. The recovery key
 * itself is not kept.
 */
export function newRecoveryKey(
  division: ShareDivision,
  { random, now, pgpFingerprints }: RecoveryKeyInput,
): { item: RecoveryKey; shares: Buffer[] } {
  const key = random(KEY_BYTES)
  const shares = splitIntoShares(key, division, random)
  const { shares: count, threshold } = division
  const item: RecoveryKey = {
    shares: count,
    threshold,
    since: now,
    verifier: recoveryKeyVerifier(key),
    shareHashes: shares.map(hashRecoveryShare),
    ...(pgpFingerprints ? { pgpFingerprints } : {}),
  }
  return { item, shares }
}
