import { endOwnEpoch } from '../../journal/density.ts'
import type { TransactionElement } from '../../journal/journal.ts'
import { formatEpoch, positionText } from '../../journal/position.ts'
import { noOwnJournalError } from '../../journal/refusals.ts'
import { headMoves } from '../../journal/transitions.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'

const TREE_ID_BYTES = 6

/**
 * Prepares a journal in a new epoch.
 * @returns the values for the cluster record (mode `primary`), and the head. head and record must be written in one
 * transaction, so that only one of several concurrent requests succeeds, and no request changes the head of a
 * journal in use
 */
export async function beginOwnJournal(
  { journal, entropy }: Pick<Ports, 'journal' | 'entropy'>,
  { id }: Pick<ClusterRecord, 'id'>,
): Promise<{ epoch: string; treeId: string; head: TransactionElement }> {
  const old = await journal.head()
  const epoch = formatEpoch((old?.maxEpoch ?? 0) + 1, id)
  const treeId = entropy.bytes(TREE_ID_BYTES).toString('hex')
  return { epoch, treeId, head: { kind: 'head', head: headMoves.begin(old, epoch) } }
}

/**
 * Ends this cluster's journal. May be repeated until the cluster record is changed.
 * @param epoch of the record
 * @returns `journalStart`: the value for the record (mode `disabled`, without epoch and tree); `end`: the last position, as
 * text
 */
export async function endJournalKeeping(
  ports: Pick<Ports, 'journal' | 'clock'>,
  { epoch = '' }: Pick<ClusterRecord, 'epoch'>,
): Promise<{ journalStart: string; end: string }> {
  const end = await endOwnEpoch(ports, { epoch })
  if (!end) throw noOwnJournalError()
  return { journalStart: positionText({ epoch: end.epoch, seq: end.seq + 1 }), end: positionText(end) }
}

/** Returns the payload of the job that adds all items to a new journal. @param now epoch milliseconds */
export const createBackfillJob = (treeId: string, now: number) => ({
  job: 'backfill',
  treeId,
  notBefore: now + bounds.CHANGEOVER_WAIT_MS,
})

/**
 * Returns the payload of the job that removes the marks of an ended journal from items.
 * @param treeId of the ended journal's tree
 */
export const createMarksRemovalJob = (journalStart: string, treeId: string | undefined, now: number) =>
  defined({ job: 'detach', journalStart, treeId, notBefore: now + bounds.CHANGEOVER_WAIT_MS })
