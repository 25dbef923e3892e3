import type { Cell } from '../../journal/cell.ts'
import type { Head } from '../../journal/head.ts'
import { type Place, placeText } from '../../journal/journal.ts'
import { retrying } from '../../values/retrying.ts'
import type { Setting } from '../apply/judge.ts'
import { type Applied, applyWindow, type Own, targetOf } from '../apply/window.ts'
import { givenUpKeys } from './diverging.ts'

/**
 * How applying what is staged ended: `done`; `busy`: others are in the way, it has to be done again; `moved`: the
 * head is another one by now; `missing`: a staged cell is not there; or the items that are not as cells say.
 */
export type Redone = 'done' | 'busy' | 'moved' | 'missing' | { readonly mismatch: readonly Place[] }

/**
 * Applies what is staged, from its beginning, and says so in the head. Whoever finds a head with something staged
 * does this first: it was left by a crash, or somebody else is at it, and both are the same.
 *
 * @param life names the own tree
 * @param staged the cells, where the caller has them in hand
 */
export async function redo(own: Own, life: string, head: Head, staged?: readonly Cell[]): Promise<Redone> {
  const { mode, hold, done, seq, until, line } = head
  if (done >= seq) return 'done'
  const cells = staged ?? (await own.journal.cells(line, done, seq))
  const whole = cells.filter(cell => cell !== undefined)
  if (whole.length < seq - done) return 'missing'
  const setting = { life, hold, until, now: Math.floor(own.clock.now() / 1000) }
  const applied = await applyTolerantly(own, whole, setting, head)
  if (applied.mismatch.length > 0) return { mismatch: applied.mismatch }
  if (applied.busy) return 'busy'
  const over = until > 0 && seq >= until
  const next = { done: seq, ...(over ? { until: 0, dirty: null, dirtyFrom: '' as const } : {}) }
  const moved = await own.journal.moveHead({ mode, hold, done }, next)
  return moved === 'refused' ? 'moved' : 'done'
}

/** Applies cells; where items are not as they say, those that have been given up are no reason to stop. */
async function applyTolerantly(
  { journal, ...own }: Own,
  cells: readonly Cell[],
  setting: Setting,
  { link }: Pick<Head, 'link'>,
): Promise<Applied> {
  const target = targetOf({ journal, ...own })
  const applied = await applyWindow(cells, setting, target)
  if (applied.mismatch.length === 0) return applied
  const tolerated = await givenUpKeys(journal, { life: setting.life, link })
  if (!applied.mismatch.some(one => tolerated.has(placeText(one)))) return applied
  return applyWindow(cells, { ...setting, tolerated }, target)
}

const TRIES = 8

/**
 * Stops the stager, and applies what is staged to the end. Before that nothing else may happen to the cluster: what
 * is half applied would be half there for ever. The head is `draining` then, with nothing left to apply.
 * @param link by which this cluster has to follow still: who comes late, when it follows by another one, stops nobody
 */
export async function drain(own: Own, life: string, link?: string): Promise<Redone> {
  let why = 'moved' as Redone
  const drained = await retrying({ tries: TRIES }, async (): Promise<Redone | 'again'> => {
    const head = await own.journal.head()
    if (link !== undefined && head?.link !== link) return 'moved'
    if (head?.mode === 'applying') {
      const { mode, hold } = head
      await own.journal.moveHead({ mode, hold, link: head.link }, { mode: 'draining' })
      return 'again'
    }
    if (head?.mode !== 'draining') return 'moved'
    if (head.done >= head.seq) return 'done'
    why = await redo(own, life, head)
    return typeof why === 'object' ? why : 'again'
  })
  if (drained !== 'again') return drained
  return why === 'done' ? 'moved' : why
}
