import type { Cell, CellChange } from '../../journal/cell.ts'
import { placeText } from '../../journal/journal.ts'
import { posText } from '../../journal/position.ts'
import { type Bucket, bucketOf, bucketText } from '../../journal/tree.ts'

/** A change, and when it was committed, epoch milliseconds. */
export type DatedChange = CellChange & { readonly at: number }

/**
 * The changes of one cell that belong to one bucket, or those of several cells in a row. They are applied together or
 * not at all: the mark of their bucket says of all of them at once whether they have been.
 */
export interface Piece {
  /** text of the position of the cell, the last one of several */
  readonly pos: string
  readonly seq: number
  readonly bucket: Bucket
  /** each item once */
  readonly changes: readonly DatedChange[]
  /** what its items come to at most, about */
  readonly bytes: number
}

/** Pieces that touch the same bucket, in the order of their cells. */
export type Component = readonly Piece[]

/**
 * Takes the cells of a window apart. Components share neither item nor bucket, so that they can be applied at once: a
 * key has one bucket for ever, and whatever shares a key shares that.
 *
 * @param treeId id of the own tree
 * @param cells in the order of their positions
 */
export function componentsOf(treeId: string, cells: readonly Cell[]): Component[] {
  const components = new Map<string, Piece[]>()
  for (const cell of cells)
    for (const piece of piecesOf(treeId, cell)) {
      const place = bucketText(piece.bucket)
      const component = components.get(place) ?? []
      components.set(place, component)
      component.push(piece)
    }
  return [...components.values()]
}

function piecesOf(treeId: string, cell: Cell): Piece[] {
  const { seq, at } = cell
  const pos = posText(cell)
  const byBucket = Map.groupBy(cell.body, ({ kind, pk, sk }) => bucketText(bucketOf(treeId, kind, pk, sk)))
  return [...byBucket.values()].flatMap(changes => {
    const [first] = changes
    if (!first) return []
    const bucket = bucketOf(treeId, first.kind, first.pk, first.sk)
    const bytes = changes.reduce((sum, { item }) => sum + Buffer.byteLength(JSON.stringify(item)), 0)
    return [{ pos, seq, bucket, changes: changes.map(change => ({ ...change, at })), bytes }]
  })
}

/**
 * Pieces of one bucket as one: what all of them together make of each item. Nobody sees what was in between, since
 * nobody reads here; and every item is expected as the first of them found it, so that some of them cannot have been
 * applied unnoticed.
 *
 * @param pieces one at least, in their order
 */
export function merged(pieces: Component): Piece {
  const last = pieces.at(-1)
  if (!last) throw new Error('there is nothing to merge')
  if (pieces.length === 1) return last
  const changes = new Map<string, DatedChange>()
  for (const change of pieces.flatMap(piece => piece.changes)) {
    const before = changes.get(placeText(change))
    changes.set(placeText(change), before ? { ...change, prev: before.prev, at: before.at } : change)
  }
  const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  return { ...last, changes: [...changes.values()], bytes }
}

/**
 * Takes a component apart into what is applied at once, one after the other: as much as fits into a transaction.
 * @param until pieces up to this position and later ones are judged by different rules, and do not go together
 */
export function runsOf(component: Component, until: number): Component[] {
  const runs: Piece[][] = []
  let [items, bytes] = [new Set<string>(), 0]
  for (const piece of component) {
    const last = runs.at(-1)
    const more = piece.changes.map(placeText).filter(place => !items.has(place))
    const fits = items.size + more.length < ELEMENTS && bytes + piece.bytes <= BYTES
    if (last && fits && (last.at(-1)?.seq ?? 0) <= until === piece.seq <= until) {
      last.push(piece)
      for (const place of more) items.add(place)
      bytes += piece.bytes
    } else {
      runs.push([piece])
      items = new Set(piece.changes.map(placeText))
      bytes = piece.bytes
    }
  }
  return runs
}

/** Elements of a transaction: the engine takes a hundred. */
const ELEMENTS = 98
/** Bytes of the items in a transaction: the engine takes 4 MiB, and counts a little otherwise. */
const BYTES = 2 ** 21

/** The items of a piece, and its bucket. */
const elementsOf = ({ changes }: Piece): number => changes.length + 1

/**
 * Puts what shares nothing together into transactions, for so many workers.
 * @returns every given run in one of the groups, in their order
 */
export function packs(ready: readonly Component[], workers: number): Component[][] {
  const most = Math.max(1, Math.ceil(ready.length / workers))
  const groups: Component[][] = []
  let [elements, bytes] = [0, 0]
  for (const run of ready) {
    const last = groups.at(-1)
    const whole = merged(run)
    const [wanted, more] = [elementsOf(whole), whole.bytes]
    if (last && last.length < most && elements + wanted <= ELEMENTS && bytes + more <= BYTES) {
      last.push(run)
      elements += wanted
      bytes += more
    } else {
      groups.push([run])
      elements = wanted
      bytes = more
    }
  }
  return groups
}
