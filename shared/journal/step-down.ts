import { type ClusterRecord, createEmptyLink } from '../model/cluster.ts'
import type { Ports } from '../ports.ts'
import { replaceItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { CONFLICT_RESULT, ok } from '../values/result.ts'
import { retryOnConflict } from '../values/retrying.ts'
import { endOwnEpoch } from './density.ts'
import { writeReplicationEvent } from './events.ts'
import { type JournalPosition, positionText } from './position.ts'
import { clusterRecordBusyError } from './refusals.ts'
import { makeRoleEventChange } from './role-event.ts'

/** The reason for which a primary steps down. */
export type StepDownReason =
  | { reason: 'demote'; epoch: string; successor?: undefined }
  /** the cluster's tables are a restored copy */
  | { reason: 'restored'; epoch: string; successor?: undefined }
  /** the cluster's epoch has ended, and the call that ended it died before it changed the record */
  | { reason: 'unfinished'; epoch: string; successor?: undefined }
  /** `successor`: UUID of the secondary that asked for the handover */
  | { reason: 'handover'; epoch: string; successor: string }
  /** `successor`: UUID of the cluster that writes the higher epoch `below` */
  | { reason: 'fence'; successor: string; below: string }

/** The number of tries to change the cluster record while other writers change it too. */
const RECORD_TRIES = 5

/**
 * Turns a primary into a secondary without a primary: ends its epoch permanently, then changes the record. The
 * cluster keeps its set, its key and its data, and its followers can fetch the rest of its journal. The call may be
 * interrupted at any point and repeated at any time. If the cluster has stepped down already, the function only
 * returns the end again.
 * @param operation id of the role change or of the request, for the audit log
 * @returns the end of the epoch, which the caller may send to others; undefined if this cluster has no epoch of its
 * own
 * @throws ApiError `busy` while the end is undecided; the caller then repeats the call
 */
export async function stepDownAsPrimary(
  ports: Pick<Ports, 'store' | 'journal' | 'clock' | 'audit'>,
  why: StepDownReason,
  operation: string,
): Promise<JournalPosition | undefined> {
  const end = await endOwnEpoch(ports, why, why.successor)
  if (!end) return undefined
  const ended = await retryOnConflict({ tries: RECORD_TRIES }, async () => {
    const readAt = ports.clock.now()
    const [record] = await ports.store.read([key('cluster')])
    if (record?.data.mode === 'secondary' && record.data.epoch === end.epoch) return ok(end)
    if (record?.data.mode !== 'primary' || record.data.epoch !== end.epoch || !record.data.link) return ok()
    const closed: ClusterRecord = {
      ...record.data,
      mode: 'secondary',
      modeSince: readAt,
      link: createEmptyLink(record.data.link.ownKey),
    }
    await writeReplicationEvent('primary-closed', operation, record.data, { ...why, seq: end.seq }, ports)
    const as = { record: record.data, readAt }
    const lost = why.reason === 'demote' || why.reason === 'handover' ? 0 : null
    const roleChange = { from: record.data, to: closed, position: positionText(end), operation, lost }
    const changes = [replaceItem(record, record, closed), makeRoleEventChange(roleChange, readAt)]
    return (await ports.store.commit(changes, as)) === 'done' ? ok(end) : CONFLICT_RESULT
  })
  if (!ended.ok) throw clusterRecordBusyError()
  return ended.value
}

/**
 * Finishes a step-down whose process died between ending the epoch and changing the record, because the caller may
 * never repeat the call. Step-downs that belong to an operation are left to that operation.
 */
export async function finishStepDown(
  ports: Pick<Ports, 'store' | 'journal' | 'clock' | 'audit' | 'entropy'>,
): Promise<void> {
  const [record] = await ports.store.read([key('cluster')])
  const { mode, epoch, operation } = record?.data ?? {}
  if (mode !== 'primary' || epoch === undefined || operation !== undefined) return
  const head = await ports.journal.head()
  if (head?.mode !== 'closed' || head.epoch !== epoch) return
  await stepDownAsPrimary(ports, { reason: 'unfinished', epoch }, ports.entropy.uuid())
}
