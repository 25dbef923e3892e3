import type { JournalHead } from '../../journal/head.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { PrimaryContact } from '../../model/link.ts'
import { bounds } from '../../values/bounds.ts'

/** The state that the result of a readiness trial depends on. */
interface Circumstances {
  readonly record: Pick<ClusterRecord, 'mode' | 'epoch' | 'treeId' | 'link' | 'operation' | 'failedOperation'>
  readonly contact: Pick<PrimaryContact, 'at' | 'epoch' | 'failedCall'> | undefined
  readonly head: Pick<JournalHead, 'mode'> | undefined
}

/**
 * Describes the role of a secondary and its contact with the primary. A readiness trial is valid only while role
 * and contact stay the same.
 * @param now epoch milliseconds
 */
export function describeReadinessBasis({ record, contact, head }: Circumstances, now: number): string {
  const { mode, epoch, treeId, link, operation, failedOperation } = record
  const role = [
    mode,
    epoch,
    treeId,
    link?.name,
    link?.secondaryId,
    operation,
    failedOperation,
    head?.mode === 'syncing',
  ]
  return JSON.stringify([...role.map(one => one ?? ''), contact?.epoch ?? '', describeContact(contact, now)])
}

function describeContact(contact: Circumstances['contact'], now: number): string {
  if (!contact) return 'none'
  const { at, failedCall } = contact
  if (!failedCall) return now - at < bounds.PEER_LOST_MS ? 'answered' : 'silent'
  return (failedCall.silentMs ?? 0) < bounds.PRIMARY_LOST_MS ? failedCall.code : 'lost'
}
