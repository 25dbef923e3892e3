import { ApiError } from '../../../api/errors.ts'
import { recordKeepsJournal } from '../../../model/cluster.ts'
import type { ClusterRead, CommitOptions, ItemStore } from '../../../ports.ts'
import type { Change } from '../../../storage/changes.ts'
import { itemKindSpec } from '../../../storage/kinds.ts'
import { isStorableWrite, isValidItemKey, tableNameOf, toItemWrite } from '../../../storage/requests.ts'
import { bounds } from '../../../values/bounds.ts'
import type { StorageEngine } from './engine.ts'
import { storageBusyError } from './faults.ts'

/** Writes changes that were checked. */
export type CommitChanges = (
  changes: readonly Change[],
  cluster: ClusterRead,
  options: CommitOptions,
) => Promise<'done' | 'conflict'>

/**
 * Checks that the cluster record is recent enough.
 * @returns milliseconds for which a write may still be started
 * @throws ApiError `busy` when the cluster record is too old
 */
export function checkRecordTimeLeft(
  { clock }: Pick<StorageEngine, 'clock'>,
  { readAt }: ClusterRead,
): number {
  const left = readAt + bounds.RECORD_AGE_MS - clock.now()
  if (left < 0) throw storageBusyError()
  return left
}

/**
 * Returns the timeout of a write, milliseconds. Other clusters rely on this timeout: later, no write by this
 * cluster record has an effect.
 */
export const writeTimeoutMs = (engine: Pick<StorageEngine, 'clock'>, cluster: ClusterRead): number =>
  checkRecordTimeLeft(engine, cluster) + bounds.LAST_WRITE_MS

/** The way in which a cluster writes, according to its record: with or without a journal. */
type Strategy = 'plain' | 'journaled' | 'refusing'

function chooseStrategy({ record }: Pick<ClusterRead, 'record'>): Strategy {
  if (record.mode === 'secondary' || record.mode === 'bootstrapping') return 'refusing'
  return recordKeepsJournal(record) ? 'journaled' : 'plain'
}

const refused = ({ record: { mode } }: ClusterRead): ApiError =>
  mode === 'secondary'
    ? new ApiError('path_disabled')
    : new ApiError('busy', 'this cluster is changing its role', { retryAfter: 5 })

/**
 * The only writer of the tables. The writer checks that the changes can be stored, then writes them as the cluster
 * record says. Changes of the cluster's own tables are never journaled, and are allowed in every role.
 */
export function createCommit(
  engine: StorageEngine,
  { plain, journaled }: { plain: CommitChanges; journaled: CommitChanges },
): ItemStore['commit'] {
  const { tables, seconds } = engine
  return async (changes, cluster, options = {}) => {
    checkRecordTimeLeft(engine, cluster)
    // an item with an invalid key cannot exist, so there is nothing to delete
    const wanted = changes.filter(change => change.kind !== 'delete' || isValidItemKey(change.key))
    if (wanted.length === 0) return 'done'
    for (const change of wanted) {
      tableNameOf(tables, change.key)
      if (!isStorableWrite(toItemWrite(change, '', tables, seconds())))
        throw new ApiError('too_large', 'the item is too large to be stored')
    }
    const replicated = wanted.some(change => itemKindSpec(change.key.kind).table === 'data')
    const strategy = replicated ? chooseStrategy(cluster) : 'plain'
    if (strategy === 'refusing') throw refused(cluster)
    return strategy === 'plain' ? plain(wanted, cluster, options) : journaled(wanted, cluster, options)
  }
}
