import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { toEntryItems } from '../../../../../shared/adapters/aws/storage/entries.ts'
import { createDynamoTables } from '../../../../../shared/adapters/aws/table.ts'
import { createTableSend } from '../../../../../shared/adapters/aws/wire/tables.ts'
import type { PlainItem } from '../../../../../shared/adapters/aws/wire/values.ts'
import { toWireItem, type WireItem } from '../../../../../shared/adapters/aws/wire/values.ts'
import type { JournalEntry } from '../../../../../shared/journal/journal-entry.ts'
import { readStoredLeaf } from '../../../../../shared/journal/tree.ts'
import { NOW } from '../../../tokens/support.ts'

/** Returns a journal whose engine has the given items and answers only batch reads. */
function journalOver(items: readonly PlainItem[]) {
  const nameOf = ({ pk, sk }: WireItem) => `${pk?.['S']}\n${sk?.['S']}`
  const stored = new Map(items.map(toWireItem).map(item => [nameOf(item), item]))
  const send = createTableSend(async ({ operation, input }) => {
    if (operation !== 'BatchGetItem') throw new Error('only batch reads are answered')
    const { RequestItems } = input as { RequestItems: { cluster: { Keys: WireItem[] } } }
    const found = RequestItems.cluster.Keys.map(at => stored.get(nameOf(at)))
    const body = { Responses: { cluster: found.filter(one => one !== undefined) } }
    return { statusCode: 200, body }
  })
  return createDynamoTables(
    {
      tables: { data: 'data', cluster: 'cluster' },
      clock: { now: () => NOW, sleep: async () => undefined },
      entropy: { bytes: length => Buffer.alloc(length), uuid: () => 'uuid' },
      meter: { count: () => undefined, measure: async work => ({ value: await work(), calls: {} }) },
      log: { error: () => undefined },
    },
    send,
  ).journal
}

/** Makes a journal entry at a position. A long journal entry has three items. */
const entryAt = (seq: number, long: boolean): JournalEntry => {
  const item = {
    kind: 'policy',
    pk: 'policy',
    sk: 'dev',
    rev: 'r',
    // journal entries are deflated, so only random data stays long
    data: { text: randomBytes(long ? 650_000 : 1).toString('base64') },
    pos: `e/${String(seq).padStart(12, '0')}`,
    leaf: Buffer.alloc(32).toString('base64url'),
  } as const
  return {
    epoch: 'e',
    seq,
    id: `rev-${seq}`,
    at: NOW,
    body: [{ kind: 'policy', pk: 'policy', sk: 'dev', prev: null, next: readStoredLeaf(item), item }],
  }
}
const entries = [entryAt(1, false), entryAt(2, true), entryAt(3, false)]
const items = entries.flatMap(toEntryItems)

test('a journal entry of several items is read as written', async () => {
  expect(items).toHaveLength(5)
  expect(await journalOver(items).entries([['e', 0]], 0, 4)).toEqual([...entries, undefined])
})

test('a journal entry that lacks one of its items is absent, and its neighbours are read', async () => {
  for (const gone of items.slice(1, 4)) {
    const rest = items.filter(item => item !== gone)
    const found = await journalOver(rest).entries([['e', 0]], 0, 3)
    expect(found.map(entry => entry?.seq)).toEqual([1, undefined, 3])
  }
})
