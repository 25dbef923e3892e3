import { secondariesOf } from '../../link/admin/secondaries.ts'
import {
  type ClusterRecord,
  isActive,
  isCopyOfPrimary,
  type Keyring,
  keepsJournal,
} from '../../model/cluster.ts'
import type { Secondary } from '../../model/link.ts'
import type { Reencryption } from '../../model/reencryption.ts'
import type { Ports } from '../../ports.ts'
import { type Item, key, partitions } from '../../storage/kinds.ts'

/** What is decided about a cluster's terms by. */
export interface TermFacts {
  /** epoch milliseconds, from before the rest was read */
  now: number
  record: ClusterRecord
  keyring: Keyring
  progress?: Reencryption | undefined
  /** empty where the keyring holds one term only */
  terms: readonly Item<'term'>[]
  /** not revoked, of this cluster's epoch; empty where it is no primary */
  secondaries: readonly Secondary[]
}

/** The same, as it was read. */
export interface StoredTermFacts extends TermFacts {
  items: {
    record: Item<'cluster'>
    keyring: Item<'keyring'>
    progress: Item<'reencryption'> | undefined
  }
}

/** Whether there is anything that another term than the one that encrypts may have encrypted. */
export const hasOlderTerms = ({ termIds }: Pick<Keyring, 'termIds'>): boolean => termIds.length > 1

/** Epoch of the journal that a cluster keeps; empty: none. */
export const epochOf = (record: ClusterRecord): string => (keepsJournal(record) ? (record.epoch ?? '') : '')

/**
 * One read, and two lists where there are older terms.
 * @param all lists terms in any case: those that are destroyed stay to be shown
 * @returns undefined where there is nothing to decide: no cluster, a restored copy, a role that changes
 */
export async function readTermFacts(
  { store, clock, deployment }: Pick<Ports, 'store' | 'clock' | 'deployment'>,
  { all = false } = {},
): Promise<StoredTermFacts | undefined> {
  const now = clock.now()
  const [record, keyring, progress] = await store.read([key('cluster'), key('keyring'), key('reencryption')])
  if (!record || !keyring || record.data.operation !== undefined) return undefined
  if (record.data.mode === 'bootstrapping' || isCopyOfPrimary(record.data, deployment)) return undefined
  // both are written together: a run that has read two versions reads again in a minute
  if (record.data.keyringEdition !== keyring.data.edition) return undefined
  const older = hasOlderTerms(keyring.data)
  const [terms, secondaries] = await Promise.all([
    older || all ? store.list(partitions('term')) : [],
    older && record.data.mode === 'primary' ? store.list(partitions('secondary')) : [],
  ])
  return {
    now,
    record: record.data,
    keyring: keyring.data,
    progress: progress?.data,
    terms,
    secondaries: secondariesOf(secondaries, record.data),
    items: { record, keyring, progress },
  }
}

/** Whether this cluster encrypts what replicates: a primary, and one that is in no set. */
export const encryptsData = ({ record }: Pick<TermFacts, 'record'>): boolean => isActive(record)
