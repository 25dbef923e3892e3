import { headMoves } from '../../journal/transitions.ts'
import { wakePuller } from '../../journal/wake.ts'
import { makeAdmissionChanges } from '../../link/admin/joining.ts'
import { createEmptyLink, type PrimaryLink } from '../../model/cluster.ts'
import { type Change, removeItem, replaceItem } from '../../storage/changes.ts'
import { renewableItemKeys } from '../../storage/encrypted-kinds.ts'
import { key } from '../../storage/kinds.ts'
import { buildLinkRecordFields } from '../activation/wipe.ts'
import { primaryAnswerMissingError } from '../operation/faults.ts'
import {
  commitOperationStep,
  endOperation,
  failOperation,
  type OperationEnd,
  type OperationRun,
  type OperationSnapshot,
  type OperationStep,
  readOperation,
  STEP_DONE,
} from '../operation/run.ts'
import { replaceFollowerKeyring } from '../secondary/follower.ts'
import { isPrimaryAdopted } from './find.ts'

/**
 * Stores in the cluster record the new primary, or that the cluster has no primary. A cluster that joins a primary
 * deletes its own admissions and revocations from when it was a primary. A cluster that joins a primary keeps the
 * statements about its own membership.
 */
export const adoptNewPrimary: OperationStep = async (run, id) => {
  const snapshot = await readOperation(run, id)
  const { record, operation } = snapshot
  if (isPrimaryAdopted(record.data, id) || operation.data.status !== 'running') return STEP_DONE
  const step = operation.data.name === 'disable' ? 'leave' : 'finish'
  const changes = await changesTo(run, snapshot, id)
  return commitOperationStep(run, snapshot, { step }, [...changes, removeItem(key('contact'))])
}

async function changesTo(
  { ports }: OperationRun,
  { record, operation }: OperationSnapshot,
  id: string,
): Promise<Change[]> {
  const { link } = record.data
  const { form, foundAddresses = [] } = operation.data.primaryUpdate ?? { form: 'clear' }
  if (!link) throw new Error('this secondary has no link key')
  const linked = (changed: PrimaryLink): Change =>
    replaceItem(record, record, { ...record.data, link: { ...changed, name: id } })
  if (form === 'clear') return [linked(createEmptyLink(link.ownKey))]
  if (form === 'addresses') return [linked({ ...link, primaryAddrs: [...foundAddresses] })]
  const self = record.data.id
  const [pending, member, own] = await ports.store.read([
    key('pending-link'),
    key('member', self),
    key('keyring'),
  ])
  if (pending?.data.operation !== id || !own) throw primaryAnswerMissingError()
  const accepted = pending.data
  // terms that only this cluster has added stay for decryption, because the set has lost them
  const { keyring } = await ports.keyFactory.unite(accepted.keyring, own.data, ports.clock.now(), true)
  const next = {
    ...buildLinkRecordFields(accepted, id, operation.data.activation),
    homeTable: ports.deployment.home,
  }
  const admission = { ...accepted, addresses: [...accepted.primaryAddrs, ...accepted.memberAddresses] }
  return [
    ...replaceFollowerKeyring(record, own, keyring, next),
    ...(await makeAdmissionChanges(ports.store, self, member, admission)),
    ...[...renewableItemKeys, pending].map(one => removeItem(one)),
  ]
}

/**
 * Ends the update of the primary. A cluster without a primary stays at its position, with all staged entries
 * applied.
 */
export const finishPrimaryUpdate: OperationStep = async (run, id) => {
  const { ports } = run
  const snapshot = await readOperation(run, id)
  const { form } = snapshot.operation.data.primaryUpdate ?? {}
  if (snapshot.operation.data.status !== 'running') return STEP_DONE
  if (form === 'clear') {
    const head = await ports.journal.head()
    if (head?.mode === 'draining' && head.applied === head.last)
      await ports.journal.moveHead(headMoves.resume({ ...head, link: id }))
  }
  const ended = await endOperation(run, id)
  // if waking the puller fails, it starts within a minute
  if (ended === STEP_DONE) await wakePuller(ports, snapshot.cluster).catch(() => undefined)
  return ended
}

/**
 * Gives up an update of the primary. Until the record names the new primary, giving up an update restores the old
 * link in the head, and the puller continues. After the record names the new primary, only leftovers of the update
 * remain to be removed.
 */
export const keepOldPrimary: OperationEnd = async (run, id, fault) => {
  const { ports } = run
  const readAt = ports.clock.now()
  const [record, pending] = await ports.store.read([key('cluster'), key('pending-link')])
  if (record && !isPrimaryAdopted(record.data, id)) {
    await ports.journal.moveHead(headMoves.restoreLink({ link: id }, record.data.link?.name ?? ''))
    if (pending?.data.operation === id)
      await ports.store.commit([removeItem(pending)], { record: record.data, readAt })
  }
  return failOperation(run, id, fault)
}
