import { describe, expect, test } from 'vitest'
import { createDynamoTables } from '../../../../../shared/adapters/aws/table.ts'
import { createTableSend, type DynamoDbCall } from '../../../../../shared/adapters/aws/wire/tables.ts'
import type { TransactionElement } from '../../../../../shared/journal/journal.ts'
import { createNoopEntry } from '../../../../../shared/journal/journal-entry.ts'
import { bucketMarkText } from '../../../../../shared/journal/position.ts'
import {
  type Change,
  createItem,
  putItem,
  removeItem,
  removeItemIfUnchanged,
  removeItemUnlessChanged,
  replaceItem,
} from '../../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../../shared/storage/kinds.ts'
import { NOW } from '../../../tokens/support.ts'

// Engines may search ten minutes of tokens at each transaction with a token, so frequent transactions have no
// token. commits.test.ts and writer.test.ts test how the store recognises a lost answer of a transaction
// without token.

const calls: DynamoDbCall[] = []
const tables = createDynamoTables(
  {
    tables: { data: 'data', cluster: 'cluster' },
    clock: { now: () => NOW, sleep: async () => undefined },
    entropy: { bytes: length => Buffer.alloc(length), uuid: () => 'one-of-a-kind' },
    meter: { count: () => undefined, measure: async work => ({ value: await work(), calls: {} }) },
    log: { error: () => undefined },
  },
  createTableSend(async call => {
    calls.push(call)
    return { statusCode: 200, body: {} }
  }),
)

/** Returns the operations of a commit, and their transaction tokens. */
async function sent(work: () => Promise<unknown>): Promise<unknown[]> {
  calls.length = 0
  expect(await work()).toBe('done')
  return calls.map(({ operation, input }) => [operation, input['ClientRequestToken']])
}

const place = (name: string) => key('sts-role', 'owner', name)
const data = { role: 'r', externalId: '' }
const read: Item<'sts-role'> = { ...place('a'), rev: 'r1', data }

describe('a commit', () => {
  test.each<[what: string, changes: Change[], wanted: [operation: string, token?: string]]>([
    ['a creation', [createItem(place('a'), data)], ['PutItem']],
    ['a deletion of an unchanged or absent item', [removeItemUnlessChanged(read)], ['DeleteItem']],
    [
      'a deletion of an unchanged item',
      [removeItemIfUnchanged(read)],
      ['TransactWriteItems', 'one-of-a-kind'],
    ],
    [
      'a creation and a replacement',
      [createItem(place('b'), data), replaceItem(read, read, data)],
      ['TransactWriteItems'],
    ],
    [
      'a creation and a deletion, if it is there still',
      [createItem(place('b'), data), removeItemUnlessChanged(read)],
      ['TransactWriteItems'],
    ],
    [
      'a creation and a deletion of what was read',
      [createItem(place('b'), data), removeItemIfUnchanged(read)],
      ['TransactWriteItems', 'one-of-a-kind'],
    ],
    [
      'a creation and a deletion of whatever is there',
      [createItem(place('b'), data), removeItem(place('a'))],
      ['TransactWriteItems', 'one-of-a-kind'],
    ],
    [
      'a creation beside what is put whatever is there',
      [createItem(place('b'), data), putItem(place('a'), data)],
      ['TransactWriteItems', 'one-of-a-kind'],
    ],
  ])('%s', async (_, changes, [operation, token]) => {
    const as = { record: {} as never, readAt: NOW }
    expect(await sent(() => tables.store.commit(changes, as))).toEqual([[operation, token]])
  })
})

describe('a transaction of the journal', () => {
  const bucket = { pk: 't#life#r#00', sk: '00' }
  test.each<[what: string, elements: TransactionElement[], token: string | undefined]>([
    [
      'with a journal entry',
      [{ kind: 'entry', entry: createNoopEntry({ epoch: 'e', seq: 1 }, NOW) }],
      undefined,
    ],
    [
      'with a mark',
      [{ kind: 'bucket', bucket, sums: new Map(), mark: bucketMarkText(1, 'e/000000000001') }],
      undefined,
    ],
    ['with only sums', [{ kind: 'bucket', bucket, sums: new Map() }], 'one-of-a-kind'],
    ['with only items', [{ kind: 'item', item: place('a'), put: null, if: { rev: 'r1' } }], 'one-of-a-kind'],
  ])('%s', async (_, elements, token) => {
    expect(await sent(() => tables.journal.transact(elements))).toEqual([['TransactWriteItems', token]])
  })
})
