import type { ClusterRecord } from '../../model/cluster.ts'
import type { Item } from '../../storage/kinds.ts'
import { divergingOf, isGivenUp } from '../secondary/diverging.ts'

/**
 * Whether the tree of a cluster was found wrong, and has not been repaired since, or, on a secondary, some of its items
 * do not stay as its primary has them.
 * @param check as it was read with the record; absent: no check has ever begun
 * @param diverging the same; absent: all was brought in line
 */
export const isTreeCorrupted = (
  { treeId, mode, link }: Pick<ClusterRecord, 'treeId' | 'mode' | 'link'>,
  check: Pick<Item<'tree-check'>, 'data'> | undefined,
  diverging: Pick<Item<'diverging'>, 'data'> | undefined,
): boolean =>
  (check !== undefined && check.data.treeId === treeId && check.data.corrupted) ||
  (mode === 'secondary' && divergingOf(diverging, { treeId, link: link?.name }).some(isGivenUp))
