import type { Head } from '../../journal/head.ts'
import type { ScanPage } from '../../journal/journal.ts'
import { makeRoleEventChange } from '../../journal/role-event.ts'
import { moves } from '../../journal/transitions.ts'
import { admissionChanges } from '../../link/admin/joining.ts'
import { linkPair } from '../../link/pair.ts'
import { isLasting } from '../../link/source.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { ActivationInput, PendingLink } from '../../model/operation.ts'
import { remove, replace } from '../../storage/changes.ts'
import { keysMadeAnew } from '../../storage/encrypted-kinds.ts'
import { key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { printTime } from '../../values/time.ts'
import { handshakeFailed, roleChangeRunning } from '../operation/faults.ts'
import {
  AGAIN,
  commitStep,
  DONE,
  moveToStep,
  type OperationRun,
  type OperationSnapshot,
  readOperation,
  type StepResult,
} from '../operation/run.ts'
import { replaceKeyring } from '../secondary/follower.ts'
import { CLOSING_S } from './closing.ts'
import { readOrCreateKeyPair } from './handshake.ts'

/**
 * Stops serving. Half a minute later no other environment writes any more, because none uses a cluster record for longer.
 * Up to here there is a way back.
 */
export async function stopServing(run: OperationRun, id: string): Promise<StepResult> {
  const snapshot = await readOperation(run, id)
  const { record } = snapshot
  if (record.data.mode !== 'disabled') return isOurs(record.data, id) ? DONE : notOurs()
  if (record.data.operation !== id) return notOurs()
  const now = run.ports.clock.now()
  const closed: ClusterRecord = { ...record.data, mode: 'bootstrapping' }
  const next = { step: 'wipe', waitsUntil: now + CLOSING_S * 1000 }
  return commitStep(run, [replace(record, record, closed), moveToStep(snapshot, now, next)], snapshot)
}

const isOurs = (record: ClusterRecord, id: string): boolean => record.operation === id || record.treeId === id

const notOurs = (): never => {
  throw roleChangeRunning()
}

/**
 * Takes the set's keys and forgets this cluster's own, so that the old items can no longer be decrypted; then deletes all
 * items that are not of the new tree. Each deletion checks the item as it is at that time, so that a late one deletes
 * nothing that was fetched since.
 */
export async function wipe(run: OperationRun, id: string): Promise<StepResult> {
  const snapshot = await readOperation(run, id)
  const { data: record } = snapshot.record
  if (record.mode === 'secondary' && record.treeId === id) return DONE
  if (record.mode !== 'bootstrapping' || !isOurs(record, id)) return notOurs()
  if (record.treeId !== id) return adoptSetKeys(run, snapshot, id)
  // read before the record: if the record has changed by then, this head is not the one to replace
  const head = await run.ports.journal.head()
  const again = await readOperation(run, id)
  if (again.record.data.mode !== 'bootstrapping') return AGAIN
  if (!(await emptyHead(run, head, id))) return AGAIN
  if (!(await deleteOthers(run, id))) return AGAIN
  const now = run.ports.clock.now()
  const secondary: ClusterRecord = { ...again.record.data, mode: 'secondary' }
  await writeAuditEvent(run, 'wiped', id, record)
  return commitStep(
    run,
    [
      replace(again.record, again.record, secondary),
      moveToStep(again, now, { step: 'sync' }),
      // it has served no clients since `close`
      makeRoleEventChange(
        { from: { ...secondary, mode: 'disabled' }, to: secondary, position: '', operation: id, lost: 0 },
        now,
      ),
    ],
    again,
  )
}

/** The record names the set, its keyring and the link: from here on there is no way back. */
async function adoptSetKeys(run: OperationRun, before: OperationSnapshot, id: string): Promise<StepResult> {
  const { ports } = run
  const [pending] = await ports.store.read([key('pending-link')])
  if (pending?.data.operation !== id) return notOurs()
  const link = pending.data
  await checkStillAdmitted(run, before, link)
  // asking takes seconds, and commits need a fresh cluster record
  const snapshot = await readOperation(run, id)
  if (snapshot.record.data.mode !== 'bootstrapping' || snapshot.record.data.treeId === id) return AGAIN
  const [own] = await ports.store.read([key('keyring')])
  const changed: Partial<ClusterRecord> = {
    ...linkRecordFields(link, id, snapshot.operation.data.activation),
    treeId: id,
    homeTable: ports.deployment.home,
  }
  await writeAuditEvent(run, 'activated', id, { ...snapshot.record.data, ...changed })
  await commitStep(
    run,
    [
      // the cluster's own terms are given up, and with them all fields that only they decrypt
      ...replaceKeyring(snapshot.record, own, link.keyring, changed),
      ...(await admissionChanges(ports.store, snapshot.record.data.id, undefined, {
        ...link,
        addresses: [...link.primaryAddrs, ...link.memberAddresses],
      })),
      // the keyring that decrypts them is gone; a cluster that becomes primary makes a new key for tokens
      ...keysMadeAnew.map(one => remove(one)),
      moveToStep(snapshot, ports.clock.now(), { step: 'wipe' }),
    ],
    snapshot,
  )
  return AGAIN
}

/** Milliseconds to wait for the primary before the wipe. */
const WIPE_ASK_TIMEOUT_MS = 5000

/**
 * Asks the primary once more before the point of no return: a cluster that was revoked since the handshake would be emptied
 * for nothing. A silent primary, or a refusal that may pass, is no reason to stop.
 * @throws OperationFailed when the primary no longer admits this cluster
 */
async function checkStillAdmitted(
  run: OperationRun,
  snapshot: OperationSnapshot,
  { set, secondaryId, primaryAddrs, primaryKey: otherKey }: PendingLink,
): Promise<void> {
  const pair = await readOrCreateKeyPair(run, snapshot)
  if (!pair) return
  const { ca } = snapshot.operation.data.activation ?? {}
  const until = run.ports.clock.now() + WIPE_ASK_TIMEOUT_MS
  const link = run.connect({
    set,
    id: secondaryId,
    pair: linkPair(pair),
    otherKey,
    addresses: primaryAddrs,
    ca,
    until,
  })
  await link.keyring({ term: 0 }).catch((error: unknown) => {
    if (isLasting(error)) throw handshakeFailed(error)
  })
}

/**
 * The fields of the record, besides the keyring, that come from the primary that has admitted this cluster.
 * @param name of the link: the operation
 */
export const linkRecordFields = (
  { set, secondaryId, primaryAddr, primaryAddrs, primaryKey, ownKey }: PendingLink,
  name: string,
  { ca, address: observedAddr }: Partial<ActivationInput> = {},
) => ({
  set,
  link: { name, secondaryId, primaryAddr, primaryAddrs, primaryKey, ownKey, ...defined({ ca }) },
  ...defined({ observedAddr }),
})

/** Makes the head that of an empty cluster; its incarnation goes on growing. */
async function emptyHead({ ports }: OperationRun, head: Head | undefined, id: string): Promise<boolean> {
  if (head && isEmpty(head, id)) return true
  return (await ports.journal.moveHead(moves.startEmpty(head, id))) !== 'refused'
}

const isEmpty = ({ mode, lineage, unfinishedSync, link }: Head, id: string): boolean =>
  mode === 'syncing' && lineage.length === 0 && unfinishedSync === 'all' && link === id

const SEGMENTS = 4

/** @returns whether nothing is left that is not of this tree */
async function deleteOthers({ ports, deadline }: OperationRun, treeId: string): Promise<boolean> {
  for (let index = 0; index < SEGMENTS; index++) {
    for (let from: ScanPage['next']; ; ) {
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

/** An entry of the audit log: what happened to this cluster, and by which operation. */
export async function writeAuditEvent(
  { ports }: OperationRun,
  event: string,
  operation: string,
  { id, set }: ClusterRecord,
): Promise<void> {
  const time = printTime(ports.clock.now())
  await ports.audit.write({ audit: 'replication', time, event, operation, cluster: id, set })
}
