import { createSecretKey } from 'node:crypto'
import { decrypt, encrypt } from './encryption.ts'

/** The keys of a keyring in clear: in memory only. */
export interface Keys {
  /** base64; never replaced, so that what follows from it stays comparable for the life of the cluster */
  fixed: string
  /** oldest first; the last one encrypts */
  terms: readonly DataKey[]
}

interface DataKey {
  version: number
  /** base64 */
  key: string
}

type Random = (length: number) => Buffer

const KEY = 32

const newKey = (random: Random): string => random(KEY).toString('base64')

/** The keys of a new cluster: one term. */
export const firstKeys = (random: Random): Keys => ({
  fixed: newKey(random),
  terms: [{ version: 1, key: newKey(random) }],
})

/** The number of the term that encrypts. */
export const newestTerm = ({ terms }: Keys): number => terms.at(-1)?.version ?? 0

/** The same keys and one more term, which encrypts from now on. */
export const withNextTerm = (keys: Keys, random: Random): Keys => ({
  ...keys,
  terms: [...keys.terms, { version: newestTerm(keys) + 1, key: newKey(random) }],
})

const placeOf = (keyring: string): string => JSON.stringify(['keyring', keyring])

/** Puts keys into an envelope: only the data key opens it, and only as that keyring. */
export const closeEnvelope = (dataKey: Uint8Array, keyring: string, keys: Keys, nonce: Buffer): string =>
  encrypt(createSecretKey(dataKey), placeOf(keyring), JSON.stringify(keys), nonce)

/** @throws when the envelope was closed with another data key, or for another keyring */
export function openEnvelope(dataKey: Uint8Array, keyring: string, encrypted: string): Keys {
  const text = decrypt(createSecretKey(dataKey), placeOf(keyring), encrypted)
  if (text === undefined) throw new Error('the keyring does not open with its data key')
  return JSON.parse(text) as Keys
}
