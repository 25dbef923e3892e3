import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import type { Journal, Place } from '../../../journal/journal.ts'
import { scanCall } from '../../../storage/queries.ts'
import { type StoredItem, tableOf } from '../../../storage/requests.ts'
import { insisted } from './attempts.ts'
import { conditionOf } from './elements.ts'
import { type Engine, nameOf } from './engine.ts'
import { scanned } from './pages.ts'
import { unjournaled } from './plan.ts'

const WRITES_AT_ONCE = 16

/** Items as they stand in the tables, behind the SDK. */
export const dynamoItems = (engine: Engine): Pick<Journal, 'raw' | 'scan' | 'wipe' | 'unstamp'> => ({
  raw: async places => {
    const keys = places.map(place => ({ table: tableOf(engine.tables, place), pk: place.pk, sk: place.sk }))
    const found = await engine.get(keys)
    return keys.map(key => found.get(nameOf(key)) as StoredItem | undefined)
  },
  scan: segment => scanned(engine, scanCall(engine.tables.data, segment)),
  wipe: (items, treeId) => countOf(items, place => wiped(engine, place, treeId)),
  unstamp: items => countOf(items, item => unstamped(engine, item)),
})

/**
 * What was found by a scan goes, be it of a kind that nobody knows.
 * @returns whether it was deleted, or was not there; not when it is an item of this tree
 */
async function wiped(engine: Engine, { pk, sk }: Pick<Place, 'pk' | 'sk'>, treeId: string): Promise<boolean> {
  const deletion = {
    TableName: engine.tables.data,
    Key: { pk, sk },
    ...conditionOf({ notOf: treeId }),
  }
  return (await insisted(engine, () => engine.documents.send(new DeleteCommand(deletion)))) !== 'refused'
}

/** @returns whether it still stood as given */
async function unstamped(engine: Engine, item: StoredItem): Promise<boolean> {
  const { rev, pos } = item
  const put = {
    TableName: tableOf(engine.tables, item),
    Item: unjournaled(item),
    ...conditionOf({ rev, ...(pos === undefined ? {} : { pos }) }),
  }
  return (await insisted(engine, () => engine.documents.send(new PutCommand(put)))) !== 'refused'
}

/** Does something with each element, sixteen at a time. @returns for how many it came true */
async function countOf<T>(elements: readonly T[], work: (element: T) => Promise<boolean>): Promise<number> {
  let count = 0
  for (let at = 0; at < elements.length; at += WRITES_AT_ONCE) {
    const results = await Promise.all(elements.slice(at, at + WRITES_AT_ONCE).map(work))
    count += results.filter(Boolean).length
  }
  return count
}
