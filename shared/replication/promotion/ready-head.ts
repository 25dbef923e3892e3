import { endOwnEpoch } from '../../journal/density.ts'
import type { JournalHead } from '../../journal/head.ts'
import { headMoves } from '../../journal/transitions.ts'
import { type FollowingPorts, pauseBeforeRetry } from '../apply/window.ts'
import { handoverEntriesError, noJournalToTakeOverError, syncStartedError } from '../operation/faults.ts'
import type { Follower } from '../secondary/follower.ts'
import { stopStagingEntries } from '../secondary/staged.ts'
import { stopSync } from '../sync/sync.ts'
import type { PromotionSnapshot } from './step.ts'

/**
 * A head with which the cluster may take over: every position up to the head's is decided, and no pending write can
 * change an item.
 */
interface ReadyHead {
  head: JournalHead
  warnings: readonly string[]
}

/**
 * Brings this cluster's journal to rest: applies all staged entries, or closes its own epoch at its exact end. With
 * force, the step stops a sync that cannot complete.
 */
export async function prepareHeadForTakeOver(
  { clock, journal }: { clock: FollowingPorts['clock']; journal: FollowingPorts['journal'] },
  { own, treeId }: Follower,
  { promotion: { force }, record }: Pick<PromotionSnapshot, 'promotion' | 'record'>,
): Promise<ReadyHead | undefined> {
  const head = await journal.head()
  if (!head || head.mode === 'writing') throw noJournalToTakeOverError()
  if (head.mode === 'closed')
    return (await endOwnEpoch({ clock, journal }, { epoch: head.epoch })) && readIdleHead(journal, 'closed')
  // the promotion was cancelled, and this cluster follows by another link or by no link
  const { name: link = '' } = record.data.link ?? {}
  if (head.link !== link) return pauseAndRepeat(own)
  if (head.mode === 'syncing') {
    if (!force) throw syncStartedError()
    const stopped = await stopSync(own, treeId, head)
    return stopped && { head: stopped, warnings: [] }
  }
  const drained = await stopStagingEntries(own, treeId, link)
  if (drained === 'done') return readIdleHead(journal, 'draining')
  if (drained === 'busy' || drained === 'moved') return pauseAndRepeat(own)
  const what =
    drained === 'missing'
      ? 'a staged journal entry is missing'
      : `${drained.mismatch.length} items do not match the journal entries`
  if (!force) throw handoverEntriesError(what)
  return skipStagedEntries(own, what)
}

async function pauseAndRepeat(own: FollowingPorts): Promise<undefined> {
  await pauseBeforeRetry(own, 3)
  return undefined
}

async function readIdleHead(
  journal: FollowingPorts['journal'],
  mode: JournalHead['mode'],
): Promise<ReadyHead | undefined> {
  const head = await journal.head()
  return head?.mode === mode && head.applied === head.last ? { head, warnings: [] } : undefined
}

/**
 * With force, the step discards staged entries that cannot be applied. After discarding staged entries, no journal
 * leads from this cluster's state to the primary's.
 */
async function skipStagedEntries({ journal }: FollowingPorts, what: string): Promise<ReadyHead | undefined> {
  const head = await journal.head()
  if (head?.mode !== 'draining') return undefined
  const moved = await journal.moveHead(headMoves.skipStaged(head))
  const warning = `overridden by force: journal entries received after position ${head.applied} could not be applied (${what})`
  return moved === 'refused' ? undefined : { head: moved, warnings: [warning] }
}
