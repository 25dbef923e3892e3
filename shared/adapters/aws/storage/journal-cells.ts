import { PutCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { type Cell, sameCell } from '../../../journal/cell.ts'
import type { Transacted } from '../../../journal/journal.ts'
import { epochAt, type Lineage, type Position } from '../../../journal/position.ts'
import type { TableKey } from '../../../storage/queries.ts'
import type { Tables } from '../../../storage/requests.ts'
import { attempted } from './attempts.ts'
import { cellFrom, cellItems, cellKey, type Part, partKeys, partsOf, writesOf } from './elements.ts'
import { type Engine, nameOf } from './engine.ts'
import type { Raw } from './expressions.ts'
import { isAllowed } from './head.ts'

const inCluster = ({ cluster }: Tables, { pk, sk }: { pk: string; sk: string }): TableKey => ({
  table: cluster,
  pk,
  sk,
})

/** The cells of all positions behind `after` up to `to`; undefined where there is none. */
export async function readCells(
  engine: Engine,
  lineage: Lineage,
  after: number,
  to: number,
): Promise<(Cell | undefined)[]> {
  const { tables, get } = engine
  const positions = Array.from({ length: Math.max(0, to - after) }, (_, index) => {
    const seq = after + 1 + index
    return { epoch: epochAt(lineage, seq), seq }
  })
  const items = await get(positions.map(position => inCluster(tables, cellKey(position))))
  const found = positions.flatMap(position => {
    const item = items.get(nameOf(inCluster(tables, cellKey(position))))
    return item ? [{ position, item }] : []
  })
  const bySeq = new Map((await withParts(engine, found)).map(cell => [cell.seq, cell]))
  return positions.map(({ seq }) => bySeq.get(seq))
}

/**
 * Cells of which the first items were read; those of several items get the others. The engine removes old items one
 * by one: a cell that has lost one of its own is no longer there.
 */
async function withParts(
  { tables, get }: Engine,
  found: readonly { position: Position; item: Raw }[],
): Promise<Cell[]> {
  const keysOf = (position: Position, item: Raw) =>
    partKeys(position, partsOf(item)).map(at => inCluster(tables, at))
  const keys = found.flatMap(({ position, item }) => keysOf(position, item))
  const parts = keys.length > 0 ? await get(keys) : new Map<string, Raw>()
  return found.flatMap(({ position, item }) => {
    const rest = keysOf(position, item).map(at => parts.get(nameOf(at)))
    const there = rest.filter(part => part !== undefined)
    return there.length === rest.length ? [cellFrom(position, item, there)] : []
  })
}

/** Stores a cell where there is none, or tells which one there is; the same one counts as stored. */
export async function writeCell(engine: Engine, cell: Cell): Promise<'done' | 'conflict' | Cell> {
  const result = await attemptCell(engine, cell)
  if (result === 'again' || result === 'conflict') return 'conflict'
  if (result === 'done' || 'value' in result) return 'done'
  const [there] = await readCells(engine, [[cell.epoch, 0]], cell.seq - 1, cell.seq)
  if (!there) return 'conflict'
  return sameCell(there, cell) ? 'done' : there
}

async function attemptCell(engine: Engine, cell: Cell) {
  const items = cellItems(cell)
  if (items.length > 1) return transactParts(engine, [{ cell }])
  const put = new PutCommand({
    TableName: engine.tables.cluster,
    Item: items[0],
    ConditionExpression: 'attribute_not_exists(pk)',
  })
  return attempted(engine, () => engine.documents.send(put))
}

/** All parts, or none. */
export async function transactParts(engine: Engine, parts: readonly Part[]): Promise<Transacted> {
  const refused = parts.flatMap((part, index) =>
    'head' in part && !isAllowed(engine, part.head) ? [index] : [],
  )
  if (refused.length > 0) return { condition: refused }
  const writes = parts.map(part => writesOf(part, engine.tables, engine.seconds()))
  const owner = writes.flatMap((list, index) => list.map(() => index))
  const transaction = new TransactWriteCommand({ TransactItems: writes.flat() })
  const result = await attempted(engine, () => engine.documents.send(transaction))
  if (result === 'again') return 'conflict'
  if ('value' in result) return 'done'
  return { condition: [...new Set(result.condition.map(index => owner[index] ?? 0))] }
}
