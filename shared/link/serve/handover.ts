import type { JournalHead } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import { stepDownAsPrimary } from '../../journal/step-down.ts'
import { headMoves } from '../../journal/transitions.ts'
import { replaceItem } from '../../storage/changes.ts'
import type { MethodReply } from '../methods.ts'
import { concurrentCallsError, handedOverError, noLongerPrimaryError, otherEpochError } from '../refusals.ts'
import { readMemberAddresses } from './addresses.ts'
import { sealKeyring } from './keyring.ts'
import type { AdmittedMethodCall, LinkServerPorts } from './ports.ts'

/**
 * Ends this cluster's epoch for the secondary that requests the handover, and makes this cluster a secondary. A
 * cluster that was closed without a successor hands over as well. A cluster with a successor refuses all other
 * secondaries.
 * @throws LinkRefused
 */
export async function serveHandover(
  ports: LinkServerPorts,
  call: AdmittedMethodCall<'Handover'>,
): Promise<MethodReply<'Handover'>> {
  const { question: asked, head } = call
  const successor = call.secondary.data.cluster ?? ''
  if (asked.epoch !== head.epoch) throw otherEpochError(head.epoch, asked.epoch)
  if (head.mode === 'closed') await nameSuccessor(ports.journal, head, successor)
  const { data } = call.secondary
  const seen = replaceItem(call.secondary, call.secondary, {
    ...data,
    lastCallTime: Number(call.envelope.time),
  })
  if ((await ports.store.commit([seen], call)) === 'conflict') throw concurrentCallsError()
  const operation = Buffer.from(call.envelope.nonce).toString('hex')
  const end = await stepDownAsPrimary(ports, { reason: 'handover', epoch: asked.epoch, successor }, operation)
  const now = await ports.journal.head()
  if (!end || !now) throw noLongerPrimaryError()
  // Another call may have closed the journal meanwhile.
  await nameSuccessor(ports.journal, now, successor)
  // The handler reads the keyring after ending the epoch, because no term is added after the end.
  const keyring = await sealKeyring(call, ports)
  return { ...end, keyring: keyring.keyring, addresses: await readMemberAddresses(call, ports) }
}

/**
 * Stores the successor of an epoch that was closed without one.
 * @throws LinkRefused if another successor is stored
 */
async function nameSuccessor(
  journal: Pick<Journal, 'head' | 'moveHead'>,
  head: JournalHead,
  successor: string,
): Promise<void> {
  const { successor: noted } = head
  if (noted === successor) return
  const moved = noted === '' && (await journal.moveHead(headMoves.nameSuccessor(head, successor)))
  if (moved && moved !== 'refused') return
  const other = noted || (await journal.head())?.successor
  if (other === successor) return
  throw handedOverError(other ?? 'another cluster')
}
