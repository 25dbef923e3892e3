import type { ItemStore } from '../ports.ts'
import type { Item, ItemPartitions, Kind } from '../storage/kinds.ts'

/**
 * Yields the items of a collection in pages, sorted by name.
 *
 * @param limit items of a page
 * @param start yields only names after this one
 * @returns pages; `next` is the name after which the following page starts, absent on the last page
 */
export async function* listPages<K extends Kind>(
  { store }: { store: Pick<ItemStore, 'list'> },
  where: ItemPartitions<K>,
  limit: number,
  start = '',
): AsyncGenerator<{ items: Item<K>[]; next?: string }, void> {
  for (let after: string | undefined = start; after !== undefined; ) {
    const items: Item<K>[] = await store.list(where, { after, limit })
    after = items.length < limit ? undefined : items.at(-1)?.sk
    yield after === undefined ? { items } : { items, next: after }
  }
}
