import type { ConflictingWrite } from '../../../infra/local/faults/storage-conflicts.ts'
import type { StorageCall } from '../../../infra/local/faults/storage-tap.ts'
import { sendAt, type Where } from './store.ts'

/**
 * What calls to the tables have changed, read at the places that they name: the kinds of items, `gone` for
 * one that is no more, sorted. Whether a call reached the engine does not matter: an item counts when it bears a
 * revision that a call was to give it. Items without revisions are not looked at.
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

/** Items by place, as they stand now. */
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
