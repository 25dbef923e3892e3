import type { Cell } from '../../journal/cell.ts'
import { type Place, placeText } from '../../journal/journal.ts'
import { markText } from '../../journal/position.ts'
import { retrying } from '../../values/retrying.ts'
import { asWritten, type Found, type Judgement, judge, type Setting, type Steps } from './judge.ts'
import {
  type Component,
  componentsOf,
  type DatedChange,
  merged,
  type Piece,
  packs,
  runsOf,
} from './pieces.ts'

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
  let components = componentsOf(setting.life, cells).map(component => runsOf(component, setting.until))
  const mismatch: Place[] = []
  let busy = false
  // the first runs of all components, then the second ones of those that have any …
  for (let round = 0; components.length > 0; round++) {
    const runs = components.flatMap(component => component.slice(round, round + 1))
    const stuck = new Set<Component>()
    await atOnce(packs(runs, WORKERS), async pack => {
      for (const { run, wrong } of await applyPack(pack, setting, target)) {
        stuck.add(run)
        mismatch.push(...wrong)
        if (wrong.length === 0) busy = true
      }
    })
    components = components.filter(all => all.length > round + 1 && !all.some(one => stuck.has(one)))
  }
  return { busy, mismatch }
}

/** Pieces of one bucket in a row that are not applied (yet). */
interface Left {
  run: Component
  /** empty: it could not be written, but nothing is wrong with it */
  wrong: readonly Place[]
}

/** Applies runs in one transaction; what is in the way of one does not keep the others. */
async function applyPack(pack: readonly Component[], setting: Setting, target: Target): Promise<Left[]> {
  if (pack.every(run => run.every(piece => piece.seq > setting.until))) {
    const written = await target.write(pack.map(run => asWritten(merged(run), setting)))
    if (written === 'done') return []
  }
  let left: Left[] = pack.map(run => ({ run, wrong: [] }))
  await retrying({ tries: TRIES, pause: target.pause }, async () => {
    left = await tryOnce(left, setting, target)
    return left.length > 0 ? 'again' : 'done'
  })
  return left
}

async function tryOnce(left: readonly Left[], setting: Setting, target: Target): Promise<Left[]> {
  const wholes = left.map(({ run }) => merged(run))
  const found = await target.find(wholes)
  const judged = left.map(({ run }, index) => ({
    run,
    verdict: verdictOn(run, wholes[index]?.changes ?? [], found[index], setting),
  }))
  const wrong = judged.flatMap(({ run, verdict }) =>
    verdict !== 'applied' && 'mismatch' in verdict ? [{ run, wrong: verdict.mismatch }] : [],
  )
  const right = judged.flatMap(({ run, verdict }) =>
    verdict !== 'applied' && 'items' in verdict ? [{ run, steps: verdict }] : [],
  )
  if (right.length === 0) return wrong
  const written = await target.write(right.map(({ steps }) => steps))
  return written === 'done' ? wrong : [...wrong, ...right.map(({ run }) => ({ run, wrong: [] }))]
}

/** Some of a run may be applied already: what is left of it is judged. */
function verdictOn(
  run: Component,
  changes: readonly DatedChange[],
  { items, mark }: Found = { items: [], mark: '' },
  setting: Setting,
): Judgement {
  const rest = run.filter(({ pos }) => markText(setting.hold, pos) > mark)
  if (rest.length === 0) return 'applied'
  const own = new Map(changes.map((change, index) => [placeText(change), items[index]]))
  const whole = merged(rest)
  return judge(whole, { items: whole.changes.map(change => own.get(placeText(change))), mark }, setting)
}

/** Does something with all elements, so many at a time. */
async function atOnce<T>(elements: readonly T[], work: (element: T) => Promise<void>): Promise<void> {
  const waiting = elements.values()
  const worker = async () => {
    for (const element of waiting) await work(element)
  }
  await Promise.all(Array.from({ length: WORKERS }, worker))
}
