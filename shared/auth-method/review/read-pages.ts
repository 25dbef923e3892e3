import type { MountCall } from '../../api/call.ts'
import { listPages } from '../../jobs/list-pages.ts'
import type { Item, ItemPartitions, Kind } from '../../storage/kinds.ts'

/** The maximum number of items of a kind that a review visits. */
const MOST_ITEMS = 10_000
/** Items of one read, in a collection of one partition and in a collection of sixteen. */
const PAGE = 1000
const PAGE_OF_MANY = 100

/**
 * Passes the items of a collection to `visit`, in pages, until 10,000 items are read or the time is up. Partitions are read at
 * the same time.
 *
 * @param until epoch milliseconds
 * @returns why items are left; undefined if all were visited
 */
export async function visitItems<K extends Kind>(
  { ports }: Pick<MountCall, 'ports'>,
  { kind, pks }: ItemPartitions<K>,
  until: number,
  visit: (item: Item<K>) => void,
): Promise<string | undefined> {
  const limit = pks.length === 1 ? PAGE : PAGE_OF_MANY
  let visited = 0
  const isTimeUp = () => ports.clock.now() >= until
  const timeGap = () => `the time was up after ${visited} items`
  const visitPartition = async (pk: string): Promise<string | undefined> => {
    if (isTimeUp()) return timeGap()
    for await (const { items, next } of listPages(ports, { kind, pks: [pk] }, limit)) {
      for (const item of items) {
        if (visited === MOST_ITEMS) return `only the first ${MOST_ITEMS} items were read`
        visited += 1
        visit(item)
      }
      if (next !== undefined && isTimeUp()) return timeGap()
    }
    return undefined
  }
  return (await Promise.all(pks.map(visitPartition))).find(why => why !== undefined)
}
