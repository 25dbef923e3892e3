import type { JournalHead } from '../../journal/head.ts'
import { type ItemPlace, itemPlaceText } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { headMoves } from '../../journal/transitions.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import type { ApplySettings } from '../apply/judge.ts'
import {
  type AppliedWindow,
  applyEntryWindow,
  createApplyTarget,
  type FollowingPorts,
} from '../apply/window.ts'
import { readGivenUpKeys } from './diverging.ts'

/**
 * The outcome of applying the staged entries. `done`; `busy`: other writers conflicted, so the caller repeats the
 * call; `moved`: the head has moved; `missing`: a staged journal entry is not in the table; `mismatch`: items are
 * not as the journal entries expect.
 */
export type StagedEntriesOutcome =
  | 'done'
  | 'busy'
  | 'moved'
  | 'missing'
  | { readonly mismatch: readonly ItemPlace[] }

/**
 * Applies all staged entries, and records the new applied position in the head. Every run first applies the staged
 * entries, because a crash may have left staged entries, or another run may be applying them.
 *
 * @param treeId id of this cluster's tree
 * @param staged the journal entries, if the caller has already read them
 */
export async function applyStagedEntries(
  own: FollowingPorts,
  treeId: string,
  head: JournalHead,
  staged?: readonly JournalEntry[],
): Promise<StagedEntriesOutcome> {
  const { incarnation, applied: done, last, replayUntil, lineage } = head
  if (done >= last) return 'done'
  const entries = staged ?? (await own.journal.entries(lineage, done, last))
  const whole = entries.filter(entry => entry !== undefined)
  if (whole.length < last - done) return 'missing'
  const setting = { treeId, incarnation, replayUntil, now: Math.floor(own.clock.now() / 1000) }
  const applied = await applyToleratingGivenUp(own, whole, setting, head)
  if (applied.mismatch.length > 0) return { mismatch: applied.mismatch }
  if (applied.busy) return 'busy'
  const moved = await own.journal.moveHead(headMoves.noteApplied(head))
  return moved === 'refused' ? 'moved' : 'done'
}

/**
 * Applies journal entries. If given-up items mismatch, the applier writes the entries again and overwrites those
 * items.
 */
async function applyToleratingGivenUp(
  own: FollowingPorts,
  entries: readonly JournalEntry[],
  setting: ApplySettings,
  { link }: Pick<JournalHead, 'link'>,
): Promise<AppliedWindow> {
  const target = createApplyTarget(own)
  const applied = await applyEntryWindow(entries, setting, target)
  if (applied.mismatch.length === 0) return applied
  const tolerated = await readGivenUpKeys(own.journal, { treeId: setting.treeId, link })
  if (!applied.mismatch.some(one => tolerated.has(itemPlaceText(one)))) return applied
  return applyEntryWindow(entries, { ...setting, tolerated }, target)
}

const STOP_TRIES = 8

/**
 * Stops staging, and applies all staged entries, because entries must not stay half applied. After this function
 * the head is `draining`, with no staged entry left to apply.
 * @param link name of the link that this cluster must still follow; a late call for an earlier link has no effect
 */
export async function stopStagingEntries(
  own: FollowingPorts,
  treeId: string,
  link?: string,
): Promise<StagedEntriesOutcome> {
  type Attempt = Result<StagedEntriesOutcome, StagedEntriesOutcome>
  const stopped = await retryOnConflict({ tries: STOP_TRIES }, async (): Promise<Attempt> => {
    const head = await own.journal.head()
    if (link !== undefined && head?.link !== link) return ok('moved')
    if (head?.mode === 'applying') {
      await own.journal.moveHead(headMoves.stopStaging(head))
      return failed('moved')
    }
    if (head?.mode !== 'draining') return ok('moved')
    if (head.applied >= head.last) return ok('done')
    const outcome = await applyStagedEntries(own, treeId, head)
    if (typeof outcome === 'object') return ok(outcome)
    return failed(outcome === 'done' ? 'moved' : outcome)
  })
  return stopped.ok ? stopped.value : stopped.fault
}
