import { diffieHellman, type KeyObject } from 'node:crypto'
import { decodeBase64 } from '../values/base64.ts'
import {
  exportRawPublicKey,
  privateKeyFromSeed,
  publicKeyFromRaw,
  RAW_KEY_BYTES,
} from '../values/raw-keys.ts'

/** The two private keys of a member of a set. */
export interface LinkKeyPairs {
  /** Ed25519: signs calls, answers and statements */
  signing: KeyObject
  /** X25519: opens boxes sealed to this cluster */
  exchange: KeyObject
}

/** The public keys of a pair, raw, 32 bytes each. */
export interface LinkPublicKeys {
  signing: Buffer
  exchange: Buffer
}

const VERSION = 1

/** Creates a pair as text: base64 of the seeds, signing before exchange. The text of a key pair is a secret. */
export const generateLinkKeyPairs = (random: (length: number) => Buffer): string =>
  random(2 * RAW_KEY_BYTES).toString('base64')

/**
 * Parses the text of a key pair.
 * @throws Error for a text that `generateLinkKeyPairs` did not make
 */
export function parseLinkKeyPairs(text: string): LinkKeyPairs {
  const seeds = Buffer.from(text, 'base64')
  if (seeds.length !== 2 * RAW_KEY_BYTES) throw new Error('a link key has 64 bytes')
  return {
    signing: privateKeyFromSeed('Ed25519', seeds.subarray(0, RAW_KEY_BYTES)),
    exchange: privateKeyFromSeed('X25519', seeds.subarray(RAW_KEY_BYTES)),
  }
}

export const linkPublicKeysOf = ({ signing, exchange }: LinkKeyPairs): LinkPublicKeys => ({
  signing: exportRawPublicKey(signing),
  exchange: exportRawPublicKey(exchange),
})

/** Returns public keys as a secondary shows them: base64 of version, X25519 key, Ed25519 key. */
export const formatLinkPublicKeys = ({ signing, exchange }: LinkPublicKeys): string =>
  Buffer.concat([Buffer.of(VERSION), exchange, signing]).toString('base64')

/** Reports whether a box may be sealed to this key. Some keys, such as a key of zeros, would keep nothing secret. */
export function isExchangeKey(raw: Uint8Array): boolean {
  try {
    diffieHellman({ privateKey: ANY, publicKey: publicKeyFromRaw('X25519', raw) })
    return true
  } catch {
    return false
  }
}

const ANY = privateKeyFromSeed('X25519', Buffer.alloc(RAW_KEY_BYTES, 1))

/** Parses a text of `formatLinkPublicKeys`; undefined for any other text. */
export function parseLinkPublicKeys(text: string): LinkPublicKeys | undefined {
  const bytes = decodeBase64(text)
  if (bytes?.length !== 1 + 2 * RAW_KEY_BYTES || bytes[0] !== VERSION) return undefined
  return { exchange: bytes.subarray(1, 1 + RAW_KEY_BYTES), signing: bytes.subarray(1 + RAW_KEY_BYTES) }
}
