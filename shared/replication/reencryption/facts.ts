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

/** The facts that decide which terms a cluster keeps, retires and destroys. */
export interface KeyringTermFacts {
  /** `now`: epoch milliseconds, taken before the reads */
  now: number
  record: ClusterRecord
  keyring: Keyring
  progress?: ReencryptionProgress | undefined
  /** `terms` is empty if the keyring holds only one term */
  terms: readonly Item<'term'>[]
  /** `secondaries` of this cluster's epoch that are not revoked; empty if this cluster is not the primary */
  secondaries: readonly Secondary[]
}

/** The facts about a cluster's terms, with the items as read. */
export interface StoredKeyringTermFacts extends KeyringTermFacts {
  items: {
    record: Item<'cluster'>
    keyring: Item<'keyring'>
    progress: Item<'reencryption'> | undefined
  }
}

/** Reports whether a term other than the newest may have encrypted something. */
export const hasOlderTerms = ({ termIds }: Pick<Keyring, 'termIds'>): boolean => termIds.length > 1

/** Returns the epoch of a cluster's journal; empty if the cluster has no journal. */
export const journalEpochOf = (record: ClusterRecord): string =>
  recordKeepsJournal(record) ? (record.epoch ?? '') : ''

/**
 * Reads the facts about a cluster's terms: one read, and two lists if older terms exist.
 * @param all whether to list terms in any case, because destroyed terms are still shown
 * @returns undefined if no decision is due: there is no cluster, the tables are a restored copy, or a role change
 * runs
 */
export async function readKeyringTermFacts(
  { store, clock, deployment }: Pick<Ports, 'store' | 'clock' | 'deployment'>,
  { all = false } = {},
): Promise<StoredKeyringTermFacts | undefined> {
  const now = clock.now()
  const [record, keyring, progress] = await store.read([key('cluster'), key('keyring'), key('reencryption')])
  if (!record || !keyring || record.data.operation !== undefined) return undefined
  if (record.data.mode === 'bootstrapping' || isCopyOfPrimary(record.data, deployment)) return undefined
  // one transaction writes cluster record and keyring: if they do not match, the next run a minute later reads both
  // again
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

/** Reports whether this cluster re-encrypts replicated data: only a primary and a cluster without a set do. */
export const encryptsReplicatedData = ({ record }: Pick<KeyringTermFacts, 'record'>): boolean =>
  isActiveRecord(record)
