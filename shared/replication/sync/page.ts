import type { Element, Place } from '../../journal/journal.ts'
import { deltasOf, leafIn, leafInTree, placed } from '../../journal/tree.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** An item as the source has it; nothing: it has none. */
export interface Wanted {
  readonly place: Place
  readonly item: StoredItem | undefined
}

/** Items of one transaction: each may need its bucket besides, and the segment is one more. */
export const PAGE = 48

/**
 * Makes items what the source has. Everything that was read is expected again, also where nothing is to be done:
 * what was read may be older than what is decided. Marks stay as they are: nothing was applied.
 * @param own what stands here, in the same order
 * @param now epoch seconds
 */
export function pageElements(
  treeId: string,
  wanted: readonly Wanted[],
  own: readonly (StoredItem | undefined)[],
  now: number,
): Element[] {
  const pairs = wanted.map(({ place, item }, index) => ({ place, item, own: own[index] }))
  const items = pairs.map(one => itemElement(treeId, one))
  const changes = pairs
    .filter(one => !isSame(treeId, one))
    .map(({ place: { kind, pk, sk }, item, own: mine }) => ({
      kind,
      pk,
      sk,
      prev: mine ? leafInTree(mine, treeId) : null,
      next: item ? leafIn(item) : null,
    }))
  const buckets = deltasOf(treeId, changes, now).filter(({ sums }) => sums.size > 0)
  return [...items, ...buckets]
}

interface Pair extends Wanted {
  readonly own: StoredItem | undefined
}

const isSame = (treeId: string, { item, own }: Pair): boolean =>
  item && own
    ? item.rev === own.rev && item.pos === own.pos && leafInTree(own, treeId)?.leaf === item.leaf
    : item === own

function itemElement(treeId: string, pair: Pair): Element {
  const { place, item, own } = pair
  const found = own ? { rev: own.rev } : 'absent'
  if (isSame(treeId, pair)) return { check: place, if: found }
  return { item: place, put: item ? placed(item, treeId) : null, if: found }
}
