import type { Head } from '../../journal/head.ts'
import { type Place, placeText } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { moves } from '../../journal/transitions.ts'
import { retrying } from '../../values/retrying.ts'
import type { Setting } from '../apply/judge.ts'
import { type Applied, applyWindow, type Own, targetOf } from '../apply/window.ts'
import { readGivenUpKeys } from './diverging.ts'

/**
 * How applying what is staged ended: `done`; `busy`: others are in the way, it has to be done again; `moved`: the
 * head is another one by now; `missing`: a staged journal entry is not there; or the items that are not as journal entries say.
 */
export type Redone = 'done' | 'busy' | 'moved' | 'missing' | { readonly mismatch: readonly Place[] }

/**
 * Applies what is staged, from its beginning, and says so in the head. Whoever finds a head with something staged
 * does this first: it was left by a crash, or somebody else is at it, and both are the same.
 *
 * @param treeId id of the own tree
 * @param staged the journal entries, where the caller has them in hand
 */
export async function redo(
  own: Own,
  treeId: string,
  head: Head,
  staged?: readonly JournalEntry[],
): Promise<Redone> {
  const { incarnation, applied: done, last, replayUntil, lineage } = head
  if (done >= last) return 'done'
  const entries = staged ?? (await own.journal.entries(lineage, done, last))
  const whole = entries.filter(entry => entry !== undefined)
  if (whole.length < last - done) return 'missing'
  const setting = { treeId, incarnation, replayUntil, now: Math.floor(own.clock.now() / 1000) }
  const applied = await applyTolerantly(own, whole, setting, head)
  if (applied.mismatch.length > 0) return { mismatch: applied.mismatch }
  if (applied.busy) return 'busy'
  const moved = await own.journal.moveHead(moves.noteApplied(head))
  return moved === 'refused' ? 'moved' : 'done'
}

/** Applies journal entries; where items are not as they say, those that have been given up are no reason to stop. */
async function applyTolerantly(
  { journal, ...own }: Own,
  entries: readonly JournalEntry[],
  setting: Setting,
  { link }: Pick<Head, 'link'>,
): Promise<Applied> {
  const target = targetOf({ journal, ...own })
  const applied = await applyWindow(entries, setting, target)
  if (applied.mismatch.length === 0) return applied
  const tolerated = await readGivenUpKeys(journal, { treeId: setting.treeId, link })
  if (!applied.mismatch.some(one => tolerated.has(placeText(one)))) return applied
  return applyWindow(entries, { ...setting, tolerated }, target)
}

const DRAIN_TRIES = 8

/**
 * Stops the stager, and applies what is staged to the end. Before that nothing else may happen to the cluster: what
 * is half applied would be half there for ever. The head is `draining` then, with nothing left to apply.
 * @param link by which this cluster has to follow still: who comes late, when it follows by another one, stops nobody
 */
export async function drain(own: Own, treeId: string, link?: string): Promise<Redone> {
  let why = 'moved' as Redone
  const drained = await retrying({ tries: DRAIN_TRIES }, async (): Promise<Redone | 'again'> => {
    const head = await own.journal.head()
    if (link !== undefined && head?.link !== link) return 'moved'
    if (head?.mode === 'applying') {
      await own.journal.moveHead(moves.stopStaging(head))
      return 'again'
    }
    if (head?.mode !== 'draining') return 'moved'
    if (head.applied >= head.last) return 'done'
    why = await redo(own, treeId, head)
    return typeof why === 'object' ? why : 'again'
  })
  if (drained !== 'again') return drained
  return why === 'done' ? 'moved' : why
}
