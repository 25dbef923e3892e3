import { BatchWriteCommand, type BatchWriteCommandOutput } from '@aws-sdk/lib-dynamodb'
import type { Cell } from '../../../journal/cell.ts'
import { retrying } from '../../../values/retrying.ts'
import { cellItems, cellKey } from './elements.ts'
import { type Engine, nameOf, TRIES } from './engine.ts'
import type { Raw } from './expressions.ts'
import { readCells, writeCell } from './journal-cells.ts'
import { busy, sent } from './verdict.ts'

/** Items that one call may store, and calls at once. */
const LARGEST_BATCH = 25
const AT_ONCE = 8

/**
 * Stores cells that another cluster has written, where there are none. Many go with one call, which costs what single
 * writes cost and knows no conditions: those that are there are looked for before.
 * @returns the first that stands there otherwise
 */
export async function writeCells(engine: Engine, cells: readonly Cell[]): Promise<'done' | Cell> {
  const { tables, get } = engine
  const inCluster = (cell: Cell) => ({ table: tables.cluster, ...cellKey(cell) })
  const found = await get(cells.map(inCluster))
  const missing: Cell[] = []
  for (const cell of cells) {
    const there = found.get(nameOf(inCluster(cell)))
    if (!there) missing.push(cell)
    else if (there['id'] !== cell.id || there['noop'] !== cell.noop) {
      const [other] = await readCells(engine, [[cell.epoch, 0]], cell.seq - 1, cell.seq)
      if (other) return other
    }
  }
  const items = missing.map(cellItems)
  await putAll(
    engine,
    items.flatMap(([item, ...rest]) => (item && rest.length === 0 ? [item] : [])),
  )
  // the parts of a cell come together or not at all
  for (const cell of missing.filter((_, index) => (items[index]?.length ?? 0) > 1)) {
    const stored = await storeWhole(engine, cell)
    if (stored !== 'done') return stored
  }
  return 'done'
}

async function storeWhole(engine: Engine, cell: Cell): Promise<'done' | Cell> {
  const stored = await retrying({ tries: TRIES, pause: engine.pause }, async () => {
    const written = await writeCell(engine, cell)
    return written === 'conflict' ? 'again' : written
  })
  if (stored === 'again') throw busy()
  return stored
}

async function putAll(engine: Engine, items: readonly Raw[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(items.length / LARGEST_BATCH) }, (_, index) =>
    items.slice(index * LARGEST_BATCH, (index + 1) * LARGEST_BATCH),
  ).values()
  const worker = async () => {
    for (const batch of batches) await putBatch(engine, batch)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function putBatch({ tables, meter, documents, pause }: Engine, items: readonly Raw[]): Promise<void> {
  let left: BatchWriteCommandOutput['UnprocessedItems'] = {
    [tables.cluster]: items.map(Item => ({ PutRequest: { Item } })),
  }
  const put = await retrying({ tries: TRIES, pause }, async () => {
    meter.count('dynamodb')
    const answer: BatchWriteCommandOutput = await sent(
      documents.send(new BatchWriteCommand({ RequestItems: left })),
    )
    left = answer.UnprocessedItems ?? {}
    return Object.keys(left).length > 0 ? 'again' : 'done'
  })
  if (put === 'again') throw busy()
}
