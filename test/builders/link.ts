import { randomBytes } from 'node:crypto'
import { generateLinkKeyPairs, linkPublicKeysOf, parseLinkKeyPairs } from '../../shared/link/pair.ts'

/** A new pair with its public halves. */
export function pair() {
  const both = parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))
  return { ...both, keys: linkPublicKeysOf(both) }
}

/** All copies of some bytes that differ from them in one bit; one bit of each byte. */
export const withOneBitChanged = (bytes: Uint8Array): Buffer[] =>
  Array.from(bytes, (byte, at) => {
    const copy = Buffer.from(bytes)
    copy.writeUInt8(byte ^ (1 << (at % 8)), at)
    return copy
  })
