import { revokeOperationToken } from '../../ceremony/generated-token.ts'
import { createTermItems } from '../../cluster/terms.ts'
import { writeReplicationEvent } from '../../journal/events.ts'
import { type JournalHead, lastPosition } from '../../journal/head.ts'
import { epochNumber, formatEpoch, positionText } from '../../journal/position.ts'
import { makeRoleEventChange } from '../../journal/role-event.ts'
import { toTransactionElements } from '../../journal/to-elements.ts'
import { headMoves } from '../../journal/transitions.ts'
import { recordHeldTerms } from '../../link/admin/holders.ts'
import { removeOtherMembers } from '../../link/admin/joining.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import { type Change, removeItem } from '../../storage/changes.ts'
import { renewableItemKeys } from '../../storage/encrypted-kinds.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { roleChangedMeanwhileError } from '../operation/faults.ts'
import {
  commitOperationStep,
  moveOperationToStep,
  type OperationEnd,
  type OperationRun,
  type OperationSnapshot,
  type OperationStep,
  type OperationStepResult,
  readEndingOperation,
  readOperation,
  STEP_AGAIN,
  STEP_DONE,
} from '../operation/run.ts'
import { createMarksRemovalJob } from '../primary/enable.ts'
import { replaceFollowerKeyring } from '../secondary/follower.ts'
import { closeSyncSegments, readSyncSegments } from '../sync/segments.ts'
import { keepOldPrimary } from '../update-primary/adopt.ts'

/** The most changes in one commit. */
const MOST = 80

/**
 * Ends replication on a secondary that follows nobody. One transaction changes record, head and keyring. After
 * leaving its set the cluster serves clients, writes without a journal, and encrypts with a term that no other
 * cluster has.
 */
export const leaveReplicationSet: OperationStep = async (run, id) => {
  const { record, operation } = await readOperation(run, id)
  if (operation.data.status !== 'running' || record.data.mode === 'disabled') return STEP_DONE
  const head = await run.ports.journal.head()
  if (!head || record.data.mode !== 'secondary' || head.link !== id) throw roleChangedMeanwhileError()
  const segments = await readSyncSegments(run.ports)
  // a late write of an unfinished sync would undo writes of clients
  if (segments.some(({ data }) => data && data.phase !== 'closed')) {
    await closeSyncSegments(run.ports, segments)
    return STEP_AGAIN
  }
  const lines = segments.flatMap(({ data }) => data?.lineage ?? [])
  const seen = Math.max(head.maxEpoch, epochNumber(head.epoch), ...lines.map(([epoch]) => epochNumber(epoch)))
  return commitLeave(run, { record, operation }, { head, n: seen + 1 })
}

/** @param n higher than the number of any epoch in this cluster's items */
async function commitLeave(
  { ports }: OperationRun,
  { record, operation: item }: Pick<OperationSnapshot, 'record' | 'operation'>,
  { head, n }: { head: JournalHead; n: number },
): Promise<OperationStepResult> {
  const { id, name, initialisedAt, operation = '' } = record.data
  const [keyring] = await ports.store.read([key('keyring')])
  if (!keyring) throw new Error('there is no keyring')
  const now = ports.clock.now()
  // the keyring gets a new id, so that later term changes of the set and of this cluster do not affect each other
  const made = await ports.keyFactory.addNextTerm(keyring.data, now, ports.entropy.uuid())
  const since = positionText({ epoch: formatEpoch(n, NOBODY), seq: 0 })
  const next: ClusterRecord = {
    id,
    name,
    mode: 'disabled',
    initialisedAt,
    journalStart: since,
    operation,
    keyring: record.data.keyring,
    term: record.data.term,
    keyringEdition: record.data.keyringEdition,
  }
  const known = (await ports.store.list(itemPartitions('term'))).map(({ sk }) => sk)
  const terms = createTermItems(made.terms, known, now, { id, name })
  const position = positionText(lastPosition(head))
  const event = makeRoleEventChange({ from: record.data, to: next, position, operation, lost: null }, now)
  await writeReplicationEvent('secondary-disabled', operation, record.data, { position }, ports)
  const result = await ports.journal.transact([
    { kind: 'head', head: headMoves.leaveSet(head, n) },
    ...toTransactionElements(
      [
        ...replaceFollowerKeyring({ ...record, data: next }, keyring, made.keyring),
        ...terms,
        moveOperationToStep({ operation: item }, now, { step: 'forget' }),
        event,
      ],
      ports.entropy,
    ),
  ])
  if (result === 'done') return STEP_DONE
  await ports.clock.sleep(50)
  return STEP_AGAIN
}

/** An id that no cluster has. */
const NOBODY = '0'.repeat(12)

/**
 * Returns the changes that remove the new term from the holder items. The other clusters of the set have the
 * earlier terms, but never the term that this cluster made when it left.
 */
async function forgetNewTermHolders(
  { ports }: OperationRun,
  { record }: OperationSnapshot,
): Promise<Change[]> {
  const [[keyring], terms, holders] = await Promise.all([
    ports.store.read([key('keyring')]),
    ports.store.list(itemPartitions('term')),
    ports.store.list(itemPartitions('holder')),
  ])
  const before = terms.map(({ sk }) => sk).filter(id => id !== keyring?.data.activeTerm)
  return recordHeldTerms(holders, before, [], record.data)
}

/** Deletes the set's members and tokens, and starts the job that removes journal marks from items. */
export const forgetReplicationSet: OperationStep = async (run, id) => {
  const { ports } = run
  const snapshot = await readOperation(run, id)
  const { journalStart } = snapshot.record.data
  if (snapshot.operation.data.status !== 'running' || journalStart === undefined) return STEP_DONE
  const [segment] = await readSyncSegments(ports)
  const others = await removeOtherMembers(ports.store)
  const own = [key('contact'), key('puller'), key('notice'), ...renewableItemKeys]
  const closed = await forgetNewTermHolders(run, snapshot)
  const gone = [...closed, ...others, ...own.map(one => removeItem(one)), revokeOperationToken()]
  const committed = await ports.store.commit(gone.slice(-MOST), snapshot.cluster)
  if (committed !== 'done' || gone.length > MOST) return STEP_AGAIN
  await ports.background.start(createMarksRemovalJob(journalStart, segment?.data?.treeId, ports.clock.now()))
  return STEP_DONE
}

/**
 * Handles the failure of a step of a disable. Before `leaveReplicationSet` has committed, the update is undone.
 * After `leave` no request could repeat the step, so the operation is not ended and another execution continues it
 * within minutes.
 */
export const failDisableOperation: OperationEnd = async (run, id, fault) => {
  const snapshot = await readEndingOperation(run, id)
  const { operation, record } = snapshot
  if (record.data.mode !== 'disabled' || record.data.operation !== id) return keepOldPrimary(run, id, fault)
  if (operation.data.status !== 'running') return STEP_DONE
  return commitOperationStep(run, snapshot, { step: 'forget', fault })
}
