import type { JournalHead } from '../../journal/head.ts'
import type { TableScanPage } from '../../journal/journal.ts'
import { makeRoleEventChange } from '../../journal/role-event.ts'
import { headMoves } from '../../journal/transitions.ts'
import { makeAdmissionChanges } from '../../link/admin/joining.ts'
import { parseLinkKeyPairs } from '../../link/pair.ts'
import { isPermanentRefusal } from '../../link/source.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { ActivationInput, PendingPrimaryLink } from '../../model/operation.ts'
import { removeItem, replaceItem } from '../../storage/changes.ts'
import { renewableItemKeys } from '../../storage/encrypted-kinds.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { formatTime } from '../../values/time.ts'
import { handshakeFailedError, roleChangeRunningError } from '../operation/faults.ts'
import {
  commitOperationStep,
  type OperationRun,
  type OperationSnapshot,
  type OperationStepResult,
  readOperation,
  STEP_AGAIN,
  STEP_DONE,
} from '../operation/run.ts'
import { replaceFollowerKeyring } from '../secondary/follower.ts'
import { CLOSING_WAIT_S } from './closing.ts'
import { readOrCreateLinkKeys } from './handshake.ts'

/**
 * Stops serving clients. No environment uses a cluster record for more than half a minute, so after half a minute
 * no environment writes any more. Until the next step the activation can be undone.
 */
export async function stopServing(run: OperationRun, id: string): Promise<OperationStepResult> {
  const snapshot = await readOperation(run, id)
  const { record } = snapshot
  if (record.data.mode !== 'disabled') return isOurs(record.data, id) ? STEP_DONE : notOurs()
  if (record.data.operation !== id) return notOurs()
  const now = run.ports.clock.now()
  const closed: ClusterRecord = { ...record.data, mode: 'bootstrapping', modeSince: now }
  const next = { step: 'wipe', waitsUntil: now + CLOSING_WAIT_S * 1000 }
  return commitOperationStep(run, snapshot, next, [replaceItem(record, record, closed)])
}

const isOurs = (record: ClusterRecord, id: string): boolean => record.operation === id || record.treeId === id

const notOurs = (): never => {
  throw roleChangeRunningError()
}

/**
 * Replaces the cluster's own keys by the set's keys, so that old items can no longer be decrypted. After closing
 * the cluster, the step deletes all items that are not in the new tree. Each deletion is conditional on the item's
 * content, so a late deletion cannot delete an item that the sync has fetched.
 */
export async function wipeClusterData(run: OperationRun, id: string): Promise<OperationStepResult> {
  const snapshot = await readOperation(run, id)
  const { data: record } = snapshot.record
  if (record.mode === 'secondary' && record.treeId === id) return STEP_DONE
  if (record.mode !== 'bootstrapping' || !isOurs(record, id)) return notOurs()
  if (record.treeId !== id) return adoptSetKeys(run, snapshot, id)
  // the head is read before the record: if the record has changed meanwhile, the head that was read must not be
  // replaced
  const head = await run.ports.journal.head()
  const again = await readOperation(run, id)
  if (again.record.data.mode !== 'bootstrapping') return STEP_AGAIN
  if (!(await emptyHead(run, head, id))) return STEP_AGAIN
  if (!(await deleteOthers(run, id))) return STEP_AGAIN
  const now = run.ports.clock.now()
  const secondary: ClusterRecord = { ...again.record.data, mode: 'secondary', modeSince: now }
  await writeActivationEvent(run, 'wiped', id, record)
  // no clients were served since the step `close`
  const from = { ...secondary, mode: 'disabled' } as const
  return commitOperationStep(run, again, { step: 'sync' }, [
    replaceItem(again.record, again.record, secondary),
    makeRoleEventChange({ from, to: secondary, position: '', operation: id, lost: 0 }, now),
  ])
}

/**
 * Stores the set, its keyring and the link in the cluster record. From this step on the activation cannot be
 * undone.
 */
async function adoptSetKeys(
  run: OperationRun,
  before: OperationSnapshot,
  id: string,
): Promise<OperationStepResult> {
  const { ports } = run
  const [pending] = await ports.store.read([key('pending-link')])
  if (pending?.data.operation !== id) return notOurs()
  const link = pending.data
  await checkStillAdmitted(run, before, link)
  // the call to the primary takes seconds, and commits need a fresh cluster record
  const snapshot = await readOperation(run, id)
  if (snapshot.record.data.mode !== 'bootstrapping' || snapshot.record.data.treeId === id) return STEP_AGAIN
  const [own] = await ports.store.read([key('keyring')])
  const changed: Partial<ClusterRecord> = {
    ...buildLinkRecordFields(link, id, snapshot.operation.data.activation),
    treeId: id,
    homeTable: ports.deployment.home,
  }
  await writeActivationEvent(run, 'activated', id, { ...snapshot.record.data, ...changed })
  await commitOperationStep(run, snapshot, { step: 'wipe' }, [
    // the cluster's own terms are deleted, so fields that these terms encrypted can no longer be decrypted
    ...replaceFollowerKeyring(snapshot.record, own, link.keyring, changed),
    ...(await makeAdmissionChanges(ports.store, snapshot.record.data.id, undefined, {
      ...link,
      addresses: [...link.primaryAddrs, ...link.memberAddresses],
    })),
    // the keyring that encrypted these keys is deleted; a cluster that becomes primary makes a new key for tokens
    ...renewableItemKeys.map(one => removeItem(one)),
  ])
  return STEP_AGAIN
}

/** Milliseconds to wait for the primary before the wipe. */
const WIPE_ASK_TIMEOUT_MS = 5000

/**
 * Sends the primary one more heartbeat before the wipe, because the wipe would be useless on a cluster that was
 * revoked since the handshake. A silent primary, or a temporary refusal, does not stop the wipe.
 * @throws OperationFailed if the primary no longer admits this cluster
 */
async function checkStillAdmitted(
  run: OperationRun,
  snapshot: OperationSnapshot,
  { set, secondaryId, primaryAddrs, primaryKey: otherKey }: PendingPrimaryLink,
): Promise<void> {
  const pair = await readOrCreateLinkKeys(run, snapshot)
  if (!pair) return
  const { ca } = snapshot.operation.data.activation ?? {}
  const until = run.ports.clock.now() + WIPE_ASK_TIMEOUT_MS
  const link = run.connect({
    set,
    id: secondaryId,
    pair: parseLinkKeyPairs(pair),
    otherKey,
    addresses: primaryAddrs,
    ca,
    until,
  })
  await link.keyring({ term: 0 }).catch((error: unknown) => {
    if (isPermanentRefusal(error)) throw handshakeFailedError(error)
  })
}

/**
 * Returns the fields of the cluster record that come from the primary's answer, except the keyring.
 * @param name of the link, which is the operation's id
 */
export const buildLinkRecordFields = (
  { set, secondaryId, primaryAddr, primaryAddrs, primaryKey, ownKey }: PendingPrimaryLink,
  name: string,
  { ca, address: observedAddr }: Partial<ActivationInput> = {},
) => ({
  set,
  link: { name, secondaryId, primaryAddr, primaryAddrs, primaryKey, ownKey, ...defined({ ca }) },
  ...defined({ observedAddr }),
})

/** Makes the head that of an empty cluster. The incarnation of the new head keeps growing. */
async function emptyHead(
  { ports }: OperationRun,
  head: JournalHead | undefined,
  id: string,
): Promise<boolean> {
  if (head && isEmpty(head, id)) return true
  return (await ports.journal.moveHead(headMoves.startEmpty(head, id))) !== 'refused'
}

const isEmpty = ({ mode, lineage, unfinishedSync, link }: JournalHead, id: string): boolean =>
  mode === 'syncing' && lineage.length === 0 && unfinishedSync === 'all' && link === id

const SEGMENTS = 4

/** Deletes all items that are not in this tree. @returns false if time ran out before the last item was deleted */
async function deleteOthers({ ports, deadline }: OperationRun, treeId: string): Promise<boolean> {
  for (let index = 0; index < SEGMENTS; index++) {
    for (let from: TableScanPage['next']; ; ) {
      const page = await ports.journal.scan({ index, of: SEGMENTS, from })
      const others = page.items.filter(({ bucket }) => bucket?.startsWith(`t#${treeId}#`) !== true)
      await ports.journal.wipe(others, treeId)
      if (!page.next) break
      if (ports.clock.now() >= deadline) return false
      from = page.next
    }
  }
  return true
}

/** Writes an audit entry about this cluster and the operation that changed it. */
export async function writeActivationEvent(
  { ports }: OperationRun,
  event: string,
  operation: string,
  { id, set }: ClusterRecord,
): Promise<void> {
  const time = formatTime(ports.clock.now())
  await ports.audit.write({ audit: 'replication', time, event, operation, cluster: id, set })
}
