import { type Call, type CallOutcome, noContentAnswer } from '../../api/call.ts'
import { textField } from '../../api/fields.ts'
import { writeReplicationEvent } from '../../journal/events.ts'
import type { TransactionElement } from '../../journal/journal.ts'
import { makeRoleEventChange } from '../../journal/role-event.ts'
import { toTransactionElements } from '../../journal/to-elements.ts'
import { removeOtherMembers } from '../../link/admin/joining.ts'
import { makeOwnLinkKey } from '../../link/admin/keys.ts'
import { type ClusterRecord, createEmptyLink } from '../../model/cluster.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import { roleChangingError } from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import {
  beginOwnJournal,
  createBackfillJob,
  createMarksRemovalJob,
  endJournalKeeping,
} from '../primary/enable.ts'
import { parseMemberAddress } from './addresses.ts'
import { requireClusterRecord } from './record.ts'

export const enablePrimaryFields = {
  primary_cluster_addr: textField(
    'Address of this cluster for secondaries; default: the configured address, or the address of this request',
  ),
}

/**
 * Handles POST sys/replication/dr/primary/enable: this cluster becomes the primary of a new set and writes a
 * journal. A background job adds the existing items to the journal. No other cluster can follow before the job
 * `backfill` is done.
 */
export async function enablePrimary(call: Call<typeof enablePrimaryFields>): Promise<CallOutcome> {
  const { parameters, ports, now, request } = call
  const item = requireClusterRecord(call)
  const address = parseMemberAddress(
    parameters.primary_cluster_addr ?? '',
    'primary_cluster_addr',
    ports.deployment,
  )
  const isNewAddress =
    parameters.primary_cluster_addr !== undefined && address !== (item.data.clusterAddr ?? '')
  checkRoleTransition('primary/enable', item.data, { isNewAddress })
  if (item.data.mode === 'primary') return setAddress(item, address)
  const { epoch, treeId, head } = await beginOwnJournal(ports, item.data)
  const record: ClusterRecord = {
    ...item.data,
    mode: 'primary',
    modeSince: now,
    set: ports.entropy.uuid(),
    epoch,
    treeId,
    treeComplete: false,
    promotions: 0,
    homeTable: ports.deployment.home,
    ...(address === '' ? {} : { clusterAddr: address }),
    link: createEmptyLink(await makeOwnLinkKey(ports)),
  }
  await writeReplicationEvent('primary-enabled', request.id, record, {}, ports)
  await becomePrimary(item, record, head, call)
  await ports.background.start(createBackfillJob(treeId, now))
  return { answer: noContentAnswer([BECOMING]) }
}

const BECOMING =
  'this cluster is becoming a DR primary, with a short interruption; other clusters can follow this cluster when GET sys/replication/dr/status shows that its journal is built'

/** @throws ApiError `busy` if another request changed the cluster record first */
async function becomePrimary(
  item: Item<'cluster'>,
  data: ClusterRecord,
  head: TransactionElement,
  { ports: { journal, entropy }, now, request }: Pick<Call, 'ports' | 'now' | 'request'>,
): Promise<void> {
  const change = { from: item.data, to: data, position: '', operation: request.id, lost: 0 }
  const changes = [replaceItem(item, item, data), makeRoleEventChange(change, now)]
  const done = await journal.transact([...toTransactionElements(changes, entropy), head])
  if (done !== 'done') throw roleChangingError()
}

/** Changes the address that a primary puts into new activation tokens. The cluster's set does not change. */
function setAddress(item: Item<'cluster'>, clusterAddr: string): CallOutcome {
  return {
    answer: noContentAnswer([
      'this cluster is a DR primary already: secondaries are given the new address with their next activation token',
    ]),
    changes: [replaceItem(item, item, { ...item.data, clusterAddr })],
  }
}

/** Maximum number of changes in one commit, besides the record. */
const MOST = 80

/** The last position of an ended journal, and the position after it. */
type JournalEnd = Awaited<ReturnType<typeof endJournalKeeping>>

/**
 * Runs the first step of primary/disable: closes the journal. The step may be repeated. Followers can still fetch
 * the whole closed journal, and nobody writes to it afterwards.
 */
export async function endOwnJournal(call: Call): Promise<JournalEnd> {
  const { data } = requireClusterRecord(call)
  checkRoleTransition('primary/disable', data)
  const ended = await endJournalKeeping(call.ports, data)
  await writeReplicationEvent(
    'primary-disabled',
    call.request.id,
    data,
    { since: ended.journalStart },
    call.ports,
  )
  return ended
}

/** Handles POST sys/replication/dr/primary/disable after the journal has ended: ends the set. */
export async function disablePrimary(call: Call, { journalStart, end }: JournalEnd): Promise<CallOutcome> {
  const { ports, now, request } = call
  const item = requireClusterRecord(call)
  checkRoleTransition('primary/disable', item.data)
  const gone = await removeOtherMembers(ports.store)
  for (let at = MOST; at < gone.length; at += MOST) await forget(gone.slice(at, at + MOST), call)
  const { id, name, keyring, term, keyringEdition, initialisedAt } = item.data
  const kept = { id, name, keyring, term, keyringEdition, initialisedAt }
  const to = { ...kept, mode: 'disabled', journalStart } as const
  return {
    answer: noContentAnswer([
      'replication is being switched off, with a short interruption; secondaries are cut off, and a secondary can return to this cluster only after its data is deleted',
    ]),
    changes: [
      ...gone.slice(0, MOST),
      replaceItem(item, item, to),
      makeRoleEventChange({ from: item.data, to, position: end, operation: request.id, lost: 0 }, now),
    ],
    afterwards: () => ports.background.start(createMarksRemovalJob(journalStart, item.data.treeId, now)),
  }
}

async function forget(changes: readonly Change[], call: Call): Promise<void> {
  await call.ports.store.commit(changes, call.cluster)
}
