import { randomBytes } from 'node:crypto'
import { generateLinkKeyPairs, linkPublicKeysOf, parseLinkKeyPairs } from '../../shared/link/pair.ts'

/** Makes a new key pair with its public halves. */
export function pair() {
  const both = parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))
  return { ...both, keys: linkPublicKeysOf(both) }
}

/** Returns copies of some bytes, each with one changed bit: one copy for each byte. */
export const withOneBitChanged = (bytes: Uint8Array): Buffer[] =>
  Array.from(bytes, (byte, at) => {
    const copy = Buffer.from(bytes)
    copy.writeUInt8(byte ^ (1 << (at % 8)), at)
    return copy
  })
