import type { ConflictingWrite } from '../faults/storage-conflicts.ts'
import type { StorageCall } from '../faults/storage-tap.ts'
import { sendAt, type Where } from './store.ts'

/**
 * Returns the changes that calls to the tables made, read from the items that the calls name: sorted kinds,
 * or `gone` for a deleted item. An item counts if it has a revision that one of the calls sets, whether or
 * not the call's answer arrived. Items without revisions are left out.
 */
export async function changesBy(where: Where, calls: readonly StorageCall[]): Promise<string[]> {
  const writes = calls.flatMap(call => call.writes).filter(one => one.action === 'Delete' || one.rev)
  const found = await itemsAt(where, writes)
  return [...Map.groupBy(writes, nameOf)]
    .flatMap(([name, all]) => {
      const item = found.get(name)
      return all.some(({ rev }) => rev === item?.['rev']) ? [item?.['kind'] ?? 'gone'] : []
    })
    .sort()
}

type Item = Record<string, string>
type Place = Pick<ConflictingWrite, 'table' | 'pk' | 'sk'>

const nameOf = ({ table, pk, sk }: Place): string => `${table} ${pk} ${sk}`

const AT_ONCE = 100

/** Returns the stored items by place. */
async function itemsAt(where: Where, places: readonly Place[]): Promise<Map<string, Item>> {
  const unique = [...new Map(places.map(one => [nameOf(one), one])).values()]
  const send = sendAt(where)
  const found = new Map<string, Item>()
  for (let at = 0; at < unique.length; at += AT_ONCE) {
    const byTable = Map.groupBy(unique.slice(at, at + AT_ONCE), ({ table }) => table)
    const RequestItems = Object.fromEntries(
      [...byTable].map(([table, some]) => [
        table,
        { ConsistentRead: true, Keys: some.map(({ pk, sk }) => ({ pk, sk })) },
      ]),
    )
    const { Responses } = await send('BatchGetItem', { RequestItems })
    for (const [table, items] of Object.entries(Responses))
      for (const item of items as Item[])
        found.set(nameOf({ table, pk: item['pk'] ?? '', sk: item['sk'] ?? '' }), item)
  }
  return found
}
