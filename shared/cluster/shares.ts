import { split } from 'shamir-secret-sharing'
import { invalid } from '../api/errors.ts'

/** How a key is divided. */
export interface Division {
  shares: number
  threshold: number
}

const MOST_SHARES = 255

/** @throws ApiError `invalid_request` @see dr-behaviour 8.1, 8.2 */
export function checkDivision({ shares, threshold }: Division): void {
  if (shares < 1 || shares > MOST_SHARES)
    throw invalid(`recovery_shares must be between 1 and ${MOST_SHARES}`)
  if (threshold < 1 || threshold > shares)
    throw invalid('recovery_threshold must be between 1 and recovery_shares')
  if (threshold === 1 && shares > 1)
    throw invalid('recovery_threshold must be greater than 1 when there are several shares')
}

/**
 * Shamir shares over GF(2^8), polynomial 0x11B: the bytes of y, then one byte of x. A single share is the key
 * itself. @see dr-behaviour 8.1
 */
export async function divide(key: Uint8Array, { shares, threshold }: Division): Promise<Buffer[]> {
  if (shares === 1) return [Buffer.from(key)]
  const parts = await split(new Uint8Array(key), shares, threshold)
  return parts.map(part => Buffer.from(part))
}
