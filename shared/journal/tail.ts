import type { Journal } from './journal.ts'
import { type Lineage, posText } from './position.ts'
import { type Bucket, bucketText, deltasOf, type Limbs, live } from './tree.ts'

/** What a cell behind some position has done to a bucket, with the keys that it has changed there. */
interface Late {
  readonly pos: string
  readonly sk: string
  readonly limbs: Limbs
}

/** Where an item stands in the table `data`. */
export interface DataKey {
  readonly pk: string
  readonly sk: string
}

/** What the journal says behind a position. Cells are read once, as far as somebody asks. */
export interface Tail {
  /** Reads up to a position. @returns positions up to there that have no cell (yet) */
  upTo(seq: number): Promise<ReadonlySet<number>>
  /** what the cells read so far have done to the buckets of a page, in their order */
  of(pk: string): readonly Late[]
  /** the keys that they have changed in a bucket */
  keys(bucket: Bucket): readonly DataKey[]
}

function push<T>(lists: Map<string, T[]>, name: string, one: T): void {
  const list = lists.get(name)
  if (list) list.push(one)
  else lists.set(name, [one])
}

/** Positions read at once. */
const WINDOW = 500

/**
 * @param after the position behind which the tail begins
 * @param now epoch seconds: what had ended by then counts nowhere
 */
export function tailOf(
  journal: Pick<Journal, 'cells'>,
  { treeId, lineage, after, now }: { treeId: string; lineage: Lineage; after: number; now: number },
): Tail {
  const lates = new Map<string, Late[]>()
  const keys = new Map<string, DataKey[]>()
  const missing = new Set<number>()
  let end = after

  function take(cell: Awaited<ReturnType<Journal['cells']>>[number]): void {
    if (!cell) return
    missing.delete(cell.seq)
    for (const { bucket, sums } of deltasOf(treeId, cell.body, now)) {
      const late = { pos: posText(cell), sk: bucket.sk, limbs: live(sums, now) }
      push(lates, bucket.pk, late)
    }
    for (const change of cell.body) {
      const [delta] = deltasOf(treeId, [change], now)
      const name = delta ? bucketText(delta.bucket) : ''
      push(keys, name, { pk: change.pk, sk: change.sk })
    }
  }

  async function read(seq: number): Promise<ReadonlySet<number>> {
    for (const hole of [...missing].filter(one => one <= seq))
      for (const cell of await journal.cells(lineage, hole - 1, hole)) take(cell)
    while (end < seq) {
      const to = Math.min(end + WINDOW, seq)
      const cells = await journal.cells(lineage, end, to)
      for (const [index, cell] of cells.entries()) if (!cell) missing.add(end + 1 + index)
      cells.forEach(take)
      end = to
    }
    return new Set([...missing].filter(hole => hole <= seq))
  }

  // one after the other: no cell is taken twice
  let turn: Promise<unknown> = Promise.resolve()
  return {
    upTo: seq => {
      const mine = turn.then(() => read(seq))
      turn = mine.catch(() => undefined)
      return mine
    },
    of: pk => lates.get(pk) ?? [],
    keys: bucket => keys.get(bucketText(bucket)) ?? [],
  }
}
