import { listSecondaries } from '../../link/admin/secondaries.ts'
import {
  type ClusterRecord,
  isActiveRecord,
  isCopyOfPrimary,
  type Keyring,
  recordKeepsJournal,
} from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import type { ReencryptionProgress } from '../../model/reencryption.ts'
import type { Ports } from '../../ports.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'

/** The facts that decide what happens to a cluster's terms. */
export interface KeyringTermFacts {
  /** epoch milliseconds, taken before the reads */
  now: number
  record: ClusterRecord
  keyring: Keyring
  progress?: ReencryptionProgress | undefined
  /** empty if the keyring holds only one term */
  terms: readonly Item<'term'>[]
  /** secondaries of this cluster's epoch that are not revoked; empty if it is not the primary */
  secondaries: readonly Secondary[]
}

/** The facts with the items as they were read. */
export interface StoredKeyringTermFacts extends KeyringTermFacts {
  items: {
    record: Item<'cluster'>
    keyring: Item<'keyring'>
    progress: Item<'reencryption'> | undefined
  }
}

/** Reports whether a term other than the newest may have encrypted something. */
export const hasOlderTerms = ({ termIds }: Pick<Keyring, 'termIds'>): boolean => termIds.length > 1

/** Returns the epoch of a cluster's journal; empty if it has none. */
export const journalEpochOf = (record: ClusterRecord): string =>
  recordKeepsJournal(record) ? (record.epoch ?? '') : ''

/**
 * Reads the facts: one read, and two lists if there are older terms.
 * @param all lists terms in any case, because destroyed terms are still shown
 * @returns undefined if there is nothing to decide: no cluster, a restored copy, or a role change
 */
export async function readKeyringTermFacts(
  { store, clock, deployment }: Pick<Ports, 'store' | 'clock' | 'deployment'>,
  { all = false } = {},
): Promise<StoredKeyringTermFacts | undefined> {
  const now = clock.now()
  const [record, keyring, progress] = await store.read([key('cluster'), key('keyring'), key('reencryption')])
  if (!record || !keyring || record.data.operation !== undefined) return undefined
  if (record.data.mode === 'bootstrapping' || isCopyOfPrimary(record.data, deployment)) return undefined
  // both are written in one transaction: if they do not match, the next run a minute later reads them again
  if (record.data.keyringEdition !== keyring.data.edition) return undefined
  const older = hasOlderTerms(keyring.data)
  const [terms, secondaries] = await Promise.all([
    older || all ? store.list(itemPartitions('term')) : [],
    older && record.data.mode === 'primary' ? store.list(itemPartitions('secondary')) : [],
  ])
  return {
    now,
    record: record.data,
    keyring: keyring.data,
    progress: progress?.data,
    terms,
    secondaries: listSecondaries(secondaries, record.data),
    items: { record, keyring, progress },
  }
}

/** Reports whether this cluster re-encrypts replicated data: a primary does, and a cluster without a set. */
export const encryptsReplicatedData = ({ record }: Pick<KeyringTermFacts, 'record'>): boolean =>
  isActiveRecord(record)
