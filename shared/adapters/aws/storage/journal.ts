import type { Journal } from '../../../journal/journal.ts'
import type { Engine } from './engine.ts'
import { readCells, transactParts, writeCell } from './journal-cells.ts'
import { dynamoHead } from './journal-head.ts'
import { dynamoItems } from './journal-items.ts'
import { writeCells } from './staged-cells.ts'
import { dynamoTree } from './tree.ts'

/** The journal behind the SDK, but for what writes by the cluster record (`journaled.ts`). */
export const dynamoJournal = (engine: Engine): Omit<Journal, 'stamp'> => ({
  ...dynamoHead(engine),
  cells: (lineage, after, to) => readCells(engine, lineage, after, to),
  putCell: cell => writeCell(engine, cell),
  putCells: cells => writeCells(engine, cells),
  transact: elements => transactParts(engine, elements),
  ...dynamoItems(engine),
  ...dynamoTree(engine),
})
