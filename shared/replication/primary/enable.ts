import { endEpoch } from '../../journal/density.ts'
import type { Element } from '../../journal/journal.ts'
import { epochName, posText } from '../../journal/position.ts'
import { notWriting } from '../../journal/refusals.ts'
import { moves } from '../../journal/transitions.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'

const TREE_ID_BYTES = 6

/**
 * What begins a journal in an epoch of its own.
 * @returns what the record takes, together with the mode `primary`, and the head, which has to be written in one
 * transaction with it: of requests at once one succeeds, and no other moves the head of a journal in use
 */
export async function beginJournal(
  { journal, entropy }: Pick<Ports, 'journal' | 'entropy'>,
  { id }: Pick<ClusterRecord, 'id'>,
): Promise<{ epoch: string; treeId: string; head: Element }> {
  const old = await journal.head()
  const epoch = epochName((old?.maxEpoch ?? 0) + 1, id)
  const treeId = entropy.bytes(TREE_ID_BYTES).toString('hex')
  return { epoch, treeId, head: { kind: 'head', head: moves.begin(old, epoch) } }
}

/**
 * Ends this cluster's journal. May be repeated until the record says so.
 * @param epoch of the record
 * @returns `journalStart`: what the record takes, together with the mode `disabled` and without epoch and tree; `end`: the
 * last position, as text
 */
export async function endJournal(
  ports: Pick<Ports, 'journal' | 'clock'>,
  { epoch = '' }: Pick<ClusterRecord, 'epoch'>,
): Promise<{ journalStart: string; end: string }> {
  const end = await endEpoch(ports, { epoch })
  if (!end) throw notWriting()
  return { journalStart: posText({ epoch: end.epoch, seq: end.seq + 1 }), end: posText(end) }
}

/** The background job that adds every item to a new journal. @param now epoch milliseconds */
export const backfillJob = (treeId: string, now: number) => ({
  job: 'backfill',
  treeId,
  notBefore: now + bounds.CHANGEOVER_WAIT_MS,
})

/**
 * The background job that removes the marks of an ended journal from items.
 * @param treeId of the tree that is not used any more
 */
export const detachJob = (journalStart: string, treeId: string | undefined, now: number) =>
  defined({ job: 'detach', journalStart, treeId, notBefore: now + bounds.CHANGEOVER_WAIT_MS })
