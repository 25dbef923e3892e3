import { cellFrom } from '../../../../shared/adapters/aws/storage/elements.ts'
import type { Cell } from '../../../../shared/journal/cell.ts'
import { epochAt, type Lineage, posText } from '../../../../shared/journal/position.ts'
import type { Changed, Entry, Moment } from '../history.ts'
import type { RawItem } from '../mirror.ts'

const CELL = /^j#(\d{6}\.[0-9a-f]{12})#/

/** The cell that a change puts, or takes away. */
export function cellIn({ table, pk, sk, before, after }: Changed): { cell: Cell; gone: boolean } | undefined {
  const [, epoch] = CELL.exec(pk) ?? []
  const item: RawItem | undefined = after ?? before
  // further parts of large cells say nothing more
  if (table !== 'cluster' || epoch === undefined || !item || sk.includes('.')) return undefined
  const cell = read.get(item) ?? cellFrom({ epoch, seq: Number(sk) }, item)
  read.set(item, cell)
  return { cell, gone: after === undefined }
}

/** Cells by the items that they stand in: each is inflated once. */
const read = new WeakMap<RawItem, Cell>()

/** Whether a cluster has the cell of a position. */
export const hasCell = ({ own }: Pick<Moment['now'], 'own'>, lineage: Lineage, seq: number): boolean => {
  const epoch = epochAt(lineage, seq)
  return own.has(`j#${epoch}#${seq % 32}\n${String(seq).padStart(12, '0')}`)
}

/** Cells that an entry puts. */
export const cellsIn = (entry: Entry): Cell[] =>
  'changes' in entry
    ? entry.changes.flatMap(change => {
        const found = cellIn(change)
        return found && !found.gone ? [found.cell] : []
      })
    : []

/** All cells as they were first written. */
export function witness() {
  const all = new Map<string, Cell>()
  return {
    all,
    /** takes note of an entry. @returns the cells that nobody had before */
    see: (entry: Entry): Cell[] => {
      const fresh = cellsIn(entry).filter(cell => !all.has(posText(cell)))
      for (const cell of fresh) all.set(posText(cell), cell)
      return fresh
    },
    at: (lineage: Lineage, seq: number): Cell | undefined =>
      all.get(posText({ epoch: epochAt(lineage, seq), seq })),
  }
}

/** The 12 digits of a cluster that stand in the names of its epochs. */
export const ownerOf = (epoch: string): string => epoch.slice(7)
