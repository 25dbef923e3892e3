import type { Head } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import { stepDown } from '../../journal/step-down.ts'
import { replace } from '../../storage/changes.ts'
import type { Reply } from '../methods.ts'
import { callsMeet, epochElsewhere, handedOver, primaryNoMore } from '../refusals.ts'
import { knownAddresses } from './addresses.ts'
import { sealedKeyring } from './keyring.ts'
import type { AskedCall, LinkPorts } from './ports.ts'

/**
 * Ends this cluster's epoch for the secondary that asks, and makes a secondary of this cluster. One that was closed
 * without an heir hands over as well; one that has an heir answers to that one alone.
 * @throws LinkRefused
 */
export async function handover(ports: LinkPorts, call: AskedCall<'Handover'>): Promise<Reply<'Handover'>> {
  const { question: asked, head } = call
  const heir = call.secondary.data.cluster ?? ''
  if (asked.epoch !== head.epoch) throw epochElsewhere(head.epoch, asked.epoch)
  if (head.mode === 'closed') await bequeath(ports.journal, head, heir)
  const { data } = call.secondary
  const seen = replace(call.secondary, call.secondary, { ...data, time: Number(call.envelope.time) })
  if ((await ports.store.commit([seen], call)) === 'conflict') throw callsMeet()
  const operation = Buffer.from(call.envelope.nonce).toString('hex')
  const end = await stepDown(ports, { reason: 'handover', epoch: asked.epoch, heir }, operation)
  const now = await ports.journal.head()
  if (!end || !now) throw primaryNoMore()
  // somebody else's call may have closed the journal in between
  await bequeath(ports.journal, now, heir)
  // after the end: no term comes behind it
  const keyring = await sealedKeyring(call, ports)
  return { ...end, keyring: keyring.keyring, addresses: await knownAddresses(call, ports) }
}

/** Names the heir of an epoch that was closed without one. @throws LinkRefused where it has another one */
async function bequeath(
  journal: Pick<Journal, 'head' | 'moveHead'>,
  head: Head,
  heir: string,
): Promise<void> {
  const { mode, epoch, heir: noted } = head
  if (noted === heir) return
  const moved = noted === '' && (await journal.moveHead({ mode, epoch, heir: '' }, { heir }))
  if (moved && moved !== 'refused') return
  const other = noted || (await journal.head())?.heir
  if (other === heir) return
  throw handedOver(other ?? 'another cluster')
}
