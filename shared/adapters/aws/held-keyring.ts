import type { KeyObject } from 'node:crypto'
import { ApiError } from '../../api/errors.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Clock, ItemStore } from '../../ports.ts'
import { deriveHmacKey, deriveTermKeys, type TermKeys } from '../../storage/encryption.ts'
import { type KeyringKeys, openKeyringEnvelope } from '../../storage/keyring.ts'
import { type Item, type Key, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { privateKeyFromSeed } from '../../values/raw-keys.ts'
import type { KmsCalls } from './kms.ts'

/** A keyring, decrypted and ready for use. */
export interface HeldKeyring {
  id: string
  active: TermKeys
  terms: readonly TermKeys[]
  /** terms whose batch tokens are accepted: all terms except read-only terms */
  tokenTerms: readonly TermKeys[]
  hmacKey: KeyObject
  /** Ed25519: signs batch tokens of the active term; absent: this cluster cannot sign for that term */
  signer?: KeyObject
  edition: number
  /** epoch milliseconds */
  readAt: number
}

/** A keyring as stored, decrypted by KMS. */
export interface StoredKeyring {
  id: string
  keys: KeyringKeys
  edition: number
}

/** Prepares a decrypted keyring for use. @throws Error when the active term is missing */
export function prepareKeyring({ id, keys, edition }: StoredKeyring, readAt: number): HeldKeyring {
  const terms = keys.terms.map(one => deriveTermKeys(one.number, Buffer.from(one.key, 'base64')))
  const tokenTerms = terms.filter((_, index) => !keys.terms[index]?.readOnly)
  const active = terms.find(one => one.id === keys.activeTerm)
  if (!active) throw new Error('the keyring lacks its active key term')
  const own = keys.signer?.term === active.id ? keys.signer : undefined
  const signer = own && privateKeyFromSeed('Ed25519', Buffer.from(own.seed, 'base64'))
  const hmacKey = deriveHmacKey(Buffer.from(keys.fixed, 'base64'))
  return defined({ id, active, terms, tokenTerms, hmacKey, signer, edition, readAt })
}

/** Reports whether a keyring has a term with this number. */
export const hasKeyringTerm = ({ terms }: HeldKeyring, version: number | undefined): boolean =>
  terms.some(one => one.version === version)

interface Sources {
  store: Pick<ItemStore, 'read'>
  clock: Pick<Clock, 'now'>
  kms: Pick<KmsCalls, 'unwrap'>
}

/**
 * Reads and decrypts the stored keyring of this cluster.
 * @param read the keyring's item, if it has been read already
 * @throws ApiError `not_initialised`, `busy`
 */
export async function readStoredKeyring(
  { store, kms }: Pick<Sources, 'store' | 'kms'>,
  read?: Item<'keyring'>,
): Promise<StoredKeyring> {
  const [item] = read ? [read] : await store.read([key('keyring')])
  if (!item) throw new ApiError('not_initialised')
  const { id, keys, edition } = item.data
  return { id, keys: openKeyringEnvelope(await kms.unwrap(item.data), id, keys), edition }
}

/** The keyring with which an environment encrypts and decrypts. */
export interface KeyringHolder {
  /** `keysToRead` returns the key to read together with the cluster record, if the keyring was never needed before */
  keysToRead(): Key<'keyring'>[]
  /**
   * Discards the remembered keyring if the cluster record names another keyring or a later edition.
   * @param read the keyring's item, if it was read together with the record
   */
  expectKeyring(record: Pick<ClusterRecord, 'keyring' | 'keyringEdition'>, read?: Item<'keyring'>): void
  current(): Promise<HeldKeyring>
  /**
   * `refreshAfter` returns the present keyring, and reads it again unless another caller has read it again since
   * `old` was read
   */
  refreshAfter(old: HeldKeyring): Promise<HeldKeyring>
}

/**
 * Keeps the keyring, which KMS decrypts when an environment first needs it. The environment reads the keyring again
 * when the cluster record names another keyring or a later edition. Comparing the number of a term is not enough,
 * because another key may have got the same number.
 */
export function createKeyringHolder(sources: Sources): KeyringHolder {
  let reading: Promise<HeldKeyring> | undefined
  let known: HeldKeyring | undefined
  let isFirst = true
  /** the keyring's item that was read together with a record, until the keyring is needed; epoch milliseconds */
  let along: { item: Item<'keyring'>; readAt: number } | undefined
  /** keyring and edition in the last cluster record, and when the record was read (epoch milliseconds) */
  let lastRecord: { keyring: string; edition: number; at: number } | undefined

  const isBehind = ({ id, edition }: HeldKeyring): boolean =>
    lastRecord !== undefined && (id !== lastRecord.keyring || edition < lastRecord.edition)

  async function unwrapped(): Promise<HeldKeyring> {
    const { item, readAt } = along ?? { item: undefined, readAt: sources.clock.now() }
    along = undefined
    return prepareKeyring(await readStoredKeyring(sources, item), readAt)
  }

  async function current(): Promise<HeldKeyring> {
    const wanted = reading ?? unwrapped()
    reading = wanted
    try {
      const held = await wanted
      if (reading === wanted) known = held
      // The keyring was already being read when the record named a later keyring.
      return lastRecord && held.readAt < lastRecord.at && isBehind(held) ? refreshAfter(held) : held
    } catch (error) {
      if (reading === wanted) forget()
      throw error
    }
  }

  function forget(): void {
    reading = undefined
    known = undefined
  }

  function refreshAfter(old: HeldKeyring): Promise<HeldKeyring> {
    if (known === old) forget()
    return current()
  }

  return {
    keysToRead: () => {
      const wanted = isFirst && !reading ? [key('keyring')] : []
      isFirst = false
      return wanted
    },
    expectKeyring: ({ keyring, keyringEdition: edition }, read) => {
      const at = sources.clock.now()
      lastRecord = { keyring, edition, at }
      // The batch read is not a snapshot: the keyring may be slightly older than the record.
      if (read && !reading) along = { item: read, readAt: at - 1 }
      if (known && isBehind(known)) forget()
    },
    current,
    refreshAfter,
  }
}
