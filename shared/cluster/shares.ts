import { invalidRequestError } from '../api/errors.ts'
import { readBase64, removeWhitespace } from '../values/base64.ts'
import { combineKeyShares, splitKeyIntoShares } from './galois.ts'

/** The number of shares, and how many shares combine into the key. */
export interface ShareDivision {
  shares: number
  threshold: number
}

const MOST_SHARES = 255

/** The names of the parameters for the number of shares and the threshold in error texts. */
type Names = Readonly<Record<keyof ShareDivision, string>>

const OF_INIT: Names = { shares: 'recovery_shares', threshold: 'recovery_threshold' }

/**
 * Checks the number of shares and the threshold. @throws ApiError `invalid_request`
 * @see docs/spec/cluster.md#recovery-shares
 */
export function checkShareDivision({ shares, threshold }: ShareDivision, names: Names = OF_INIT): void {
  if (shares < 1 || shares > MOST_SHARES)
    throw invalidRequestError(`${names.shares} must be between 1 and ${MOST_SHARES}`)
  if (threshold < 1 || threshold > shares)
    throw invalidRequestError(`${names.threshold} must be between 1 and ${names.shares}`)
  if (threshold === 1 && shares > 1)
    throw invalidRequestError(`${names.threshold} must be greater than 1 when there are several shares`)
}

/**
 * Splits a key by Shamir's scheme over GF(2^8), polynomial 0x11B: the bytes of y, then one byte of x. A single share is the
 * key itself. @see docs/spec/cluster.md#recovery-shares
 */
export const splitIntoShares = (
  key: Uint8Array,
  division: ShareDivision,
  random: (length: number) => Uint8Array,
): Buffer[] => (division.shares === 1 ? [Buffer.from(key)] : splitKeyIntoShares(key, division, random))

const SHORTEST = 16
const LONGEST = 33

/**
 * Reads a share as its holder sends it: hex, or base64 with padding. Line ends and blanks in a share are ignored.
 * @throws ApiError `invalid_request`
 */
export function parseShare(text: string): Buffer {
  const compact = removeWhitespace(text)
  const hex = /^([0-9a-f]{2})+$/i.test(compact) ? Buffer.from(compact, 'hex') : undefined
  if (hex && hex.length >= SHORTEST && hex.length <= LONGEST) return hex
  const share = readBase64(compact)
  if (!share) throw invalidRequestError('key must be a valid hex or base64 string')
  if (share.length < SHORTEST) throw invalidRequestError(`key is shorter than minimum ${SHORTEST} bytes`)
  if (share.length > LONGEST) throw invalidRequestError(`key is longer than maximum ${LONGEST} bytes`)
  return share
}

/**
 * Combines shares (hex) into a key; if one share is wrong, the key is wrong. Returns undefined if the shares cannot
 * belong together.
 */
export function combineShares(shares: readonly string[]): Buffer | undefined {
  const points = shares.map(share => Buffer.from(share, 'hex'))
  return points.length === 1 ? points[0] : combineKeyShares(points)
}
