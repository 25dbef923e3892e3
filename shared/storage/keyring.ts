import { createSecretKey } from 'node:crypto'
import { decryptText, encryptText, termIdOf } from './encryption.ts'

/** The unencrypted keys of a keyring. Unencrypted keys are in memory only. */
export interface KeyringKeys {
  /** `fixed`, base64, is never replaced, so that texts derived from it stay comparable for the life of the cluster */
  fixed: string
  terms: readonly DataKey[]
  /** `activeTerm` is the identity of the term that encrypts */
  activeTerm: string
  /** `destroyedTerms`: identities of terms whose keys were destroyed; readers do not wait for these terms */
  destroyedTerms?: readonly string[]
  /** `signer` is this cluster's key that signs batch tokens of a term; the key is never given to another cluster */
  signer?: Signer
}

interface Signer {
  /** identity of the term */
  term: string
  /** seed of an Ed25519 key: 32 bytes, base64 */
  seed: string
}

interface DataKey {
  /** the term's number */
  number: number
  /** base64 */
  key: string
  /** `readOnly`: the set does not have the term, so the term only decrypts fields, and its batch tokens do not count */
  readOnly?: true
}

type Random = (length: number) => Buffer

const KEY = 32

const newKey = (random: Random): string => random(KEY).toString('base64')

/** Creates the keys of a new cluster, with one term. */
export const createKeyringKeys = (random: Random): KeyringKeys =>
  withTerm({ fixed: newKey(random), terms: [], activeTerm: '' }, 1, random)

/** Returns the identity of a term. */
export const termIdOfDataKey = ({ key }: DataKey): string => termIdOf(Buffer.from(key, 'base64'))

/**
 * Returns the term that encrypts.
 * @throws Error for a keyring without it
 */
export function activeKeyringTerm({ terms, activeTerm: active }: KeyringKeys): DataKey {
  const term = terms.find(one => termIdOfDataKey(one) === active)
  if (!term) throw new Error('the keyring lacks its active key term')
  return term
}

/** Returns the number of the term that encrypts. */
export const activeTermNumber = (keys: KeyringKeys): number => activeKeyringTerm(keys).number

/**
 * Returns the highest number of all terms. After a forced promotion the highest number may be above the number of
 * the encrypting term.
 */
export const highestTermNumber = ({ terms }: KeyringKeys): number => Math.max(...terms.map(one => one.number))

/** Returns the identities of all terms. */
export const heldTermIds = ({ terms }: KeyringKeys): string[] => terms.map(termIdOfDataKey)

/** Adds a term, which encrypts from now on. The number of the new term is above all other numbers. */
export const addNextKeyringTerm = (keys: KeyringKeys, random: Random): KeyringKeys =>
  withTerm(keys, highestTermNumber(keys) + 1, random)

function withTerm(keys: KeyringKeys, version: number, random: Random): KeyringKeys {
  const next: DataKey = { number: version, key: newKey(random) }
  const active = termIdOfDataKey(next)
  return {
    ...keys,
    terms: [...keys.terms, next],
    activeTerm: active,
    signer: { term: active, seed: newKey(random) },
  }
}

/** Adds this cluster's own signer for the encrypting term, if the keyring has no signer for it. */
export const addBatchTokenSigner = (keys: KeyringKeys, random: Random): KeyringKeys =>
  keys.signer?.term === keys.activeTerm
    ? keys
    : { ...keys, signer: { term: keys.activeTerm, seed: newKey(random) } }

/** Removes the signer before the keys are given to another cluster. */
export const removeBatchTokenSigner = ({ signer: _, ...keys }: KeyringKeys): KeyringKeys => keys

/**
 * Unites the terms of two keyrings, by identity. The active term of the first keyring encrypts. Terms that either
 * keyring has destroyed stay destroyed.
 * @param leading of the primary
 * @param other of a cluster that follows the primary, or will
 * @param lost whether the set has lost the terms that only `other` has; lost terms become read-only
 */
export function uniteKeyrings(leading: KeyringKeys, other: KeyringKeys, lost = false): KeyringKeys {
  const { fixed, activeTerm: active } = leading
  const gone = [...new Set([...(leading.destroyedTerms ?? []), ...(other.destroyedTerms ?? [])])].filter(
    id => id !== active,
  )
  const added = other.terms
    .filter(one => !heldTermIds(leading).includes(termIdOfDataKey(one)))
    .map(one => (lost ? { ...one, readOnly: true as const } : one))
  const terms = [...leading.terms, ...added].filter(one => !gone.includes(termIdOfDataKey(one)))
  // A cluster that was primary keeps its signer while the same term encrypts.
  const signer = leading.signer ?? (other.signer?.term === active ? other.signer : undefined)
  return {
    fixed,
    terms,
    activeTerm: active,
    ...(gone.length > 0 ? { destroyedTerms: gone } : {}),
    ...(signer ? { signer } : {}),
  }
}

/**
 * Removes terms from a keyring and marks them as destroyed, so that readers do not wait for them.
 * @param ids identities
 * @throws Error when one of these terms encrypts
 */
export function removeKeyringTerms(keys: KeyringKeys, ids: readonly string[]): KeyringKeys {
  if (ids.includes(keys.activeTerm)) throw new Error('the active key term cannot be destroyed')
  const terms = keys.terms.filter(one => !ids.includes(termIdOfDataKey(one)))
  return { ...keys, terms, destroyedTerms: [...new Set([...(keys.destroyedTerms ?? []), ...ids])] }
}

const placeOf = (keyring: string): string => JSON.stringify(['keyring', keyring])

/**
 * Encrypts the keys of a keyring with a data key. The keys can be decrypted only with the same data key, and only
 * as the same keyring.
 */
export const sealKeyringEnvelope = (
  dataKey: Uint8Array,
  keyring: string,
  keys: KeyringKeys,
  nonce: Buffer,
): string => encryptText(createSecretKey(dataKey), placeOf(keyring), JSON.stringify(keys), nonce)

/**
 * Decrypts the keys of a keyring.
 * @throws Error when the keys were encrypted with another data key, or for another keyring
 */
export function openKeyringEnvelope(dataKey: Uint8Array, keyring: string, encrypted: string): KeyringKeys {
  const text = decryptText(createSecretKey(dataKey), placeOf(keyring), encrypted)
  if (text === undefined) throw new Error('the keyring does not open with its data key')
  return checkKeyringKeys(JSON.parse(text) as KeyringKeys)
}

/**
 * Checks the form of a keyring's keys.
 * @throws Error for a keyring that another version has made
 */
export function checkKeyringKeys(keys: KeyringKeys): KeyringKeys {
  if (typeof keys.activeTerm !== 'string' || !Array.isArray(keys.terms))
    throw new Error('the keyring names no active key term, because another version made the keyring')
  return keys
}
