import { createSecretKey } from 'node:crypto'
import { decrypt, encrypt, termIdOf } from './encryption.ts'

/** The keys of a keyring in clear: in memory only. */
export interface Keys {
  /** base64; never replaced, so that what follows from it stays comparable for the life of the cluster */
  fixed: string
  terms: readonly DataKey[]
  /** identity of the term that encrypts */
  activeTerm: string
  /** identities of terms whose keys were given up: nobody waits for them */
  destroyedTerms?: readonly string[]
  /** what this cluster signs batch tokens of a term by: never handed to another one */
  signer?: Signer
}

interface Signer {
  /** identity of the term */
  term: string
  /** of an Ed25519 key: 32 bytes, base64 */
  seed: string
}

interface DataKey {
  /** its number */
  number: number
  /** base64 */
  key: string
  /** the set does not have it: it opens fields, and no batch token of it counts */
  readOnly?: true
}

type Random = (length: number) => Buffer

const KEY = 32

const newKey = (random: Random): string => random(KEY).toString('base64')

/** The keys of a new cluster: one term. */
export const createKeys = (random: Random): Keys =>
  withTerm({ fixed: newKey(random), terms: [], activeTerm: '' }, 1, random)

/** The identity of a term. */
export const idOf = ({ key }: DataKey): string => termIdOf(Buffer.from(key, 'base64'))

/** The term that encrypts. @throws Error for a keyring without terms */
export function activeTerm({ terms, activeTerm: active }: Keys): DataKey {
  const term = terms.find(one => idOf(one) === active)
  if (!term) throw new Error('the keyring lacks the term that encrypts')
  return term
}

/** The number of the term that encrypts. */
export const activeTermNumber = (keys: Keys): number => activeTerm(keys).number

/** The highest number of the terms that are held: it may be above that of the one that encrypts, after a forced promotion. */
export const highestTermNumber = ({ terms }: Keys): number => Math.max(...terms.map(one => one.number))

/** Identities of all terms that are held. */
export const heldTermIds = ({ terms }: Keys): string[] => terms.map(idOf)

/** The same keys and one more term, which encrypts from now on. Its number is above all that are held. */
export const addNextTerm = (keys: Keys, random: Random): Keys =>
  withTerm(keys, highestTermNumber(keys) + 1, random)

function withTerm(keys: Keys, version: number, random: Random): Keys {
  const next: DataKey = { number: version, key: newKey(random) }
  const active = idOf(next)
  return {
    ...keys,
    terms: [...keys.terms, next],
    activeTerm: active,
    signer: { term: active, seed: newKey(random) },
  }
}

/** The same keys with a signer of this cluster's own for the term that encrypts, where it has none. */
export const addSigner = (keys: Keys, random: Random): Keys =>
  keys.signer?.term === keys.activeTerm
    ? keys
    : { ...keys, signer: { term: keys.activeTerm, seed: newKey(random) } }

/** What another cluster is given. */
export const removeSigner = ({ signer: _, ...keys }: Keys): Keys => keys

/**
 * All terms that either keyring holds, by identity; what the first one encrypts by encrypts. What either has given up
 * stays given up.
 * @param leading of the primary
 * @param other of a cluster that follows it, or will
 * @param lost whether terms that only the other one has were lost by the set: then they are for reading only
 */
export function uniteKeys(leading: Keys, other: Keys, lost = false): Keys {
  const { fixed, activeTerm: active } = leading
  const gone = [...new Set([...(leading.destroyedTerms ?? []), ...(other.destroyedTerms ?? [])])].filter(
    id => id !== active,
  )
  const added = other.terms
    .filter(one => !heldTermIds(leading).includes(idOf(one)))
    .map(one => (lost ? { ...one, readOnly: true as const } : one))
  const terms = [...leading.terms, ...added].filter(one => !gone.includes(idOf(one)))
  // who has been primary keeps what it signs by, while the term is that one
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
 * The same keys without some terms, which nobody waits for any more.
 * @param ids identities
 * @throws Error when one of them encrypts
 */
export function removeTerms(keys: Keys, ids: readonly string[]): Keys {
  if (ids.includes(keys.activeTerm)) throw new Error('the term that encrypts is not given up')
  const terms = keys.terms.filter(one => !ids.includes(idOf(one)))
  return { ...keys, terms, destroyedTerms: [...new Set([...(keys.destroyedTerms ?? []), ...ids])] }
}

const placeOf = (keyring: string): string => JSON.stringify(['keyring', keyring])

/** Puts keys into an envelope: only the data key opens it, and only as that keyring. */
export const closeEnvelope = (dataKey: Uint8Array, keyring: string, keys: Keys, nonce: Buffer): string =>
  encrypt(createSecretKey(dataKey), placeOf(keyring), JSON.stringify(keys), nonce)

/** @throws when the envelope was closed with another data key, or for another keyring */
export function openEnvelope(dataKey: Uint8Array, keyring: string, encrypted: string): Keys {
  const text = decrypt(createSecretKey(dataKey), placeOf(keyring), encrypted)
  if (text === undefined) throw new Error('the keyring does not open with its data key')
  return checkKeys(JSON.parse(text) as Keys)
}

/** @throws Error for keys that another version has made */
export function checkKeys(keys: Keys): Keys {
  if (typeof keys.activeTerm !== 'string' || !Array.isArray(keys.terms))
    throw new Error('the keyring does not name the term that encrypts: another version has made it')
  return keys
}
