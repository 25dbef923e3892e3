import type { Head } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import { stepDown } from '../../journal/step-down.ts'
import { moves } from '../../journal/transitions.ts'
import { replace } from '../../storage/changes.ts'
import type { Reply } from '../methods.ts'
import { concurrentCallsError, handedOverError, noLongerPrimaryError, otherEpochError } from '../refusals.ts'
import { readAddresses } from './addresses.ts'
import { sealKeyring } from './keyring.ts'
import type { AskedCall, LinkPorts } from './ports.ts'

/**
 * Ends this cluster's epoch for the secondary that asks, and makes this cluster a secondary. A cluster that was
 * closed without a successor hands over as well. A cluster with a successor refuses all others.
 * @throws LinkRefused
 */
export async function handover(ports: LinkPorts, call: AskedCall<'Handover'>): Promise<Reply<'Handover'>> {
  const { question: asked, head } = call
  const successor = call.secondary.data.cluster ?? ''
  if (asked.epoch !== head.epoch) throw otherEpochError(head.epoch, asked.epoch)
  if (head.mode === 'closed') await nameSuccessor(ports.journal, head, successor)
  const { data } = call.secondary
  const seen = replace(call.secondary, call.secondary, { ...data, lastCallTime: Number(call.envelope.time) })
  if ((await ports.store.commit([seen], call)) === 'conflict') throw concurrentCallsError()
  const operation = Buffer.from(call.envelope.nonce).toString('hex')
  const end = await stepDown(ports, { reason: 'handover', epoch: asked.epoch, successor }, operation)
  const now = await ports.journal.head()
  if (!end || !now) throw noLongerPrimaryError()
  // Another call may have closed the journal meanwhile.
  await nameSuccessor(ports.journal, now, successor)
  // The keyring is read after the end, because no term is added after that.
  const keyring = await sealKeyring(call, ports)
  return { ...end, keyring: keyring.keyring, addresses: await readAddresses(call, ports) }
}

/**
 * Stores the successor of an epoch that was closed without one.
 * @throws LinkRefused if another successor is stored
 */
async function nameSuccessor(
  journal: Pick<Journal, 'head' | 'moveHead'>,
  head: Head,
  successor: string,
): Promise<void> {
  const { successor: noted } = head
  if (noted === successor) return
  const moved = noted === '' && (await journal.moveHead(moves.nameSuccessor(head, successor)))
  if (moved && moved !== 'refused') return
  const other = noted || (await journal.head())?.successor
  if (other === successor) return
  throw handedOverError(other ?? 'another cluster')
}
