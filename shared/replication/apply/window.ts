import type { Cell } from '../cell.ts'
import type { Place } from '../journal.ts'
import { asWritten, type Found, judge, type Setting, type Steps } from './judge.ts'
import { componentsOf, type Piece, packs } from './pieces.ts'

/** The tables of the own cluster, as far as the applier touches them. */
export interface Target {
  /** what stands in the places of pieces, in their order */
  find(pieces: readonly Piece[]): Promise<Found[]>
  /** one transaction; `conflict` decides nothing */
  write(steps: readonly Steps[]): Promise<'done' | 'refused' | 'conflict'>
  /** before another try */
  pause(tries: number): Promise<void>
}

/** How applying a window ended: `busy` when others are in the way, else the items that are not as cells say. */
export type Applied = { readonly busy: boolean; readonly mismatch: readonly Place[] }

const WORKERS = 8
/** Together some seconds: a transaction that got stuck is decided by then, and what is decided is seen. */
const TRIES = 16

/**
 * Applies the cells of a window. It may be done any number of times, at once, by processes that were frozen in
 * between: marks tell what is applied already, and fence the rest.
 */
export async function applyWindow(
  cells: readonly Cell[],
  setting: Setting,
  target: Target,
): Promise<Applied> {
  let components = componentsOf(setting.life, cells)
  const mismatch: Place[] = []
  let busy = false
  // the first pieces of all components, then the second ones of those that have any …
  for (let round = 0; components.length > 0; round++) {
    const pieces = components.flatMap(component => component[round] ?? [])
    const stuck = new Set<Piece>()
    await atOnce(packs(pieces, WORKERS), async pack => {
      const left = await applyPack(pack, setting, target)
      for (const { piece, wrong } of left) {
        stuck.add(piece)
        mismatch.push(...wrong)
        if (wrong.length === 0) busy = true
      }
    })
    components = components.filter(all => all.length > round + 1 && !all.some(one => stuck.has(one)))
  }
  return { busy, mismatch }
}

interface Left {
  piece: Piece
  /** empty: it could not be written, but nothing is wrong with it */
  wrong: readonly Place[]
}

/** Applies pieces in one transaction; what is in the way of one does not keep the others. */
async function applyPack(pack: readonly Piece[], setting: Setting, target: Target): Promise<Left[]> {
  if (pack.every(piece => piece.seq > setting.until)) {
    const written = await target.write(pack.map(piece => asWritten(piece, setting)))
    if (written === 'done') return []
  }
  let left: Left[] = pack.map(piece => ({ piece, wrong: [] }))
  for (let tries = 0; tries < TRIES && left.length > 0; tries++) {
    if (tries > 0) await target.pause(tries)
    left = await tryOnce(left, setting, target)
  }
  return left
}

async function tryOnce(left: readonly Left[], setting: Setting, target: Target): Promise<Left[]> {
  const pieces = left.map(({ piece }) => piece)
  const found = await target.find(pieces)
  const judged = pieces.map((piece, index) => ({
    piece,
    verdict: judge(piece, found[index] ?? { items: [], mark: '' }, setting),
  }))
  const wrong = judged.flatMap(({ piece, verdict }) =>
    verdict !== 'applied' && 'mismatch' in verdict ? [{ piece, wrong: verdict.mismatch }] : [],
  )
  const right = judged.flatMap(({ piece, verdict }) =>
    verdict !== 'applied' && 'items' in verdict ? [{ piece, steps: verdict }] : [],
  )
  if (right.length === 0) return wrong
  const written = await target.write(right.map(({ steps }) => steps))
  return written === 'done' ? wrong : [...wrong, ...right.map(({ piece }) => ({ piece, wrong: [] }))]
}

/** Does something with all elements, so many at a time. */
async function atOnce<T>(elements: readonly T[], work: (element: T) => Promise<void>): Promise<void> {
  const waiting = elements.values()
  const worker = async () => {
    for (const element of waiting) await work(element)
  }
  await Promise.all(Array.from({ length: WORKERS }, worker))
}
