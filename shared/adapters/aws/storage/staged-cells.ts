import type { Cell } from '../../../journal/cell.ts'
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
  for (let tries = 0; tries < TRIES; tries++) {
    if (tries > 0) await engine.pause(tries)
    const stored = await writeCell(engine, cell)
    if (stored !== 'conflict') return stored
  }
  throw busy()
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

async function putBatch({ tables, meter, send, pause }: Engine, items: readonly Raw[]): Promise<void> {
  for (let [left, tries] = [items, 0]; left.length > 0; tries++) {
    if (tries === TRIES) throw busy()
    if (tries > 0) await pause(tries)
    meter.count('dynamodb')
    const RequestItems = { [tables.cluster]: left.map(Item => ({ PutRequest: { Item } })) }
    const { UnprocessedItems } = await sent(send('BatchWriteItem', { RequestItems }))
    left = UnprocessedItems[tables.cluster] ?? []
  }
}
