import type { ClusterRecord } from '../../model/cluster.ts'
import type { Item } from '../../storage/kinds.ts'
import { divergingKeysOf, isDivergingKeyGivenUp } from '../secondary/diverging.ts'

/**
 * Reports whether the last check found the tree corrupted. On a secondary the function also reports whether items
 * keep differing from the primary's.
 * @param check the stored check, read together with the record; absent: no check has begun yet
 * @param diverging read together with the record; absent: no item differs
 */
export const isTreeCorrupted = (
  { treeId, mode, link }: Pick<ClusterRecord, 'treeId' | 'mode' | 'link'>,
  check: Pick<Item<'tree-check'>, 'data'> | undefined,
  diverging: Pick<Item<'diverging'>, 'data'> | undefined,
): boolean =>
  (check !== undefined && check.data.treeId === treeId && check.data.corrupted) ||
  (mode === 'secondary' &&
    divergingKeysOf(diverging, { treeId, link: link?.name }).some(isDivergingKeyGivenUp))
