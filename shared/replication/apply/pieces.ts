import type { Cell, CellChange } from '../cell.ts'
import { posText } from '../position.ts'
import { type Bucket, bucketOf, bucketText } from '../tree.ts'

/**
 * The changes of one cell that belong to one bucket. They are applied together or not at all: the mark of their
 * bucket says of all of them at once whether they have been.
 */
export interface Piece {
  /** text of the cell's position */
  readonly pos: string
  readonly seq: number
  /** epoch milliseconds of the commit */
  readonly at: number
  readonly bucket: Bucket
  readonly changes: readonly CellChange[]
}

/** Pieces that touch the same bucket, in the order of their cells. */
export type Component = readonly Piece[]

/**
 * Takes the cells of a window apart. Components share neither item nor bucket, so that they can be applied at once: a
 * key has one bucket for ever, and whatever shares a key shares that.
 *
 * @param life names the own tree
 * @param cells in the order of their positions
 */
export function componentsOf(life: string, cells: readonly Cell[]): Component[] {
  const components = new Map<string, Piece[]>()
  for (const cell of cells)
    for (const piece of piecesOf(life, cell)) {
      const place = bucketText(piece.bucket)
      const component = components.get(place) ?? []
      components.set(place, component)
      component.push(piece)
    }
  return [...components.values()]
}

function piecesOf(life: string, cell: Cell): Piece[] {
  const { seq, at } = cell
  const pos = posText(cell)
  const byBucket = Map.groupBy(cell.body, ({ kind, pk, sk }) => bucketText(bucketOf(life, kind, pk, sk)))
  return [...byBucket.values()].flatMap(changes => {
    const [first] = changes
    return first ? [{ pos, seq, at, bucket: bucketOf(life, first.kind, first.pk, first.sk), changes }] : []
  })
}

/** Elements of a transaction: the engine takes a hundred. */
const ELEMENTS = 98

/** The items of a piece, and its bucket. */
const elementsOf = ({ changes }: Piece): number => changes.length + 1

/**
 * Puts pieces that share nothing together into transactions, for so many workers.
 * @returns every given piece in one of the groups, in their order
 */
export function packs(ready: readonly Piece[], workers: number): Piece[][] {
  const most = Math.max(1, Math.ceil(ready.length / workers))
  const groups: Piece[][] = []
  let elements = 0
  for (const piece of ready) {
    const last = groups.at(-1)
    const wanted = elementsOf(piece)
    if (last && last.length < most && elements + wanted <= ELEMENTS) {
      last.push(piece)
      elements += wanted
    } else {
      groups.push([piece])
      elements = wanted
    }
  }
  return groups
}
