import type { ClusterRecord } from '../../model/cluster.ts'
import type { Item } from '../../storage/kinds.ts'

/**
 * Whether the tree of a cluster was found wrong, and has not been repaired since.
 * @param check as it was read with the record; absent: no check has ever begun
 */
export const isTreeCorrupted = (
  { life }: Pick<ClusterRecord, 'life'>,
  check: Pick<Item<'tree-check'>, 'data'> | undefined,
): boolean => check !== undefined && check.data.life === life && check.data.corrupted
