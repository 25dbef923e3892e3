import { randomBytes } from 'node:crypto'
import { BatchGetCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterEach, expect, test, vi } from 'vitest'
import { cellItems } from '../../../../../shared/adapters/aws/storage/elements.ts'
import type { Raw } from '../../../../../shared/adapters/aws/storage/expressions.ts'
import { dynamoTables } from '../../../../../shared/adapters/aws/table.ts'
import type { Cell } from '../../../../../shared/journal/cell.ts'
import { leafIn } from '../../../../../shared/journal/tree.ts'
import { NOW } from '../../../tokens/support.ts'

/** The journal over an engine that has some items and answers batch reads alone. */
function journalOver(items: readonly Raw[]) {
  const nameOf = ({ pk, sk }: Raw) => `${pk}\n${sk}`
  const stored = new Map(items.map(item => [nameOf(item), item]))
  vi.spyOn(DynamoDBDocumentClient.prototype, 'send').mockImplementation((async (command: unknown) => {
    if (!(command instanceof BatchGetCommand)) throw new Error('only batch reads are answered')
    const asked = command.input.RequestItems?.['cluster']?.Keys ?? []
    return {
      Responses: { cluster: asked.map(at => stored.get(nameOf(at))).filter(one => one !== undefined) },
    }
  }) as never)
  return dynamoTables({
    tables: { data: 'data', cluster: 'cluster' },
    clock: { now: () => NOW, sleep: async () => undefined },
    entropy: { bytes: length => Buffer.alloc(length), uuid: () => 'uuid' },
    meter: { count: () => undefined, measured: async work => ({ value: await work(), calls: {} }) },
    log: { error: () => undefined },
  }).journal
}
afterEach(() => vi.restoreAllMocks())

/** A cell at a position; a long one takes three items. */
const cellAt = (seq: number, long: boolean): Cell => {
  const item = {
    kind: 'policy',
    pk: 'policy',
    sk: 'dev',
    rev: 'r',
    // bodies are deflated: only what is random stays long
    data: { text: randomBytes(long ? 650_000 : 1).toString('base64') },
    pos: `e/${String(seq).padStart(12, '0')}`,
    leaf: Buffer.alloc(32).toString('base64url'),
  } as const
  return {
    epoch: 'e',
    seq,
    id: `rev-${seq}`,
    at: NOW,
    body: [{ kind: 'policy', pk: 'policy', sk: 'dev', prev: null, next: leafIn(item), item }],
  }
}
const cells = [cellAt(1, false), cellAt(2, true), cellAt(3, false)]
const items = cells.flatMap(cellItems)

test('a cell of several items is read as it was written', async () => {
  expect(items).toHaveLength(5)
  expect(await journalOver(items).cells([['e', 0]], 0, 4)).toEqual([...cells, undefined])
})

test('a cell that the engine has begun to remove is not there, and its neighbours are', async () => {
  for (const gone of items.slice(1, 4)) {
    const rest = items.filter(item => item !== gone)
    const found = await journalOver(rest).cells([['e', 0]], 0, 3)
    expect(found.map(cell => cell?.seq)).toEqual([1, undefined, 3])
  }
})
