import { findDenseFrontier } from '../../journal/density.ts'
import type { JournalHead } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import { createNoopEntry } from '../../journal/journal-entry.ts'
import { epochAt, type JournalPosition } from '../../journal/position.ts'
import type { Secondary } from '../../model/link.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'
import { type AddressRules, normaliseMemberAddress } from '../../values/member-address.ts'
import { clockSkewOf } from '../envelope.ts'
import type { MethodQuestion, MethodReply } from '../methods.ts'
import { concurrentCallsError, secondaryTooOldError } from '../refusals.ts'
import { LINK_FORMAT } from '../source.ts'
import { readOtherMemberAddresses } from './addresses.ts'
import {
  type AdmittedLinkCall,
  type AdmittedMethodCall,
  type LinkServerPorts,
  ownAddressesOf,
} from './ports.ts'

/**
 * Handles a secondary's heartbeat: stores the reported facts for status, and answers with this journal's position.
 * @throws LinkRefused
 */
export async function serveHeartbeat(
  ports: LinkServerPorts,
  call: AdmittedMethodCall<'Heartbeat'>,
): Promise<MethodReply<'Heartbeat'>> {
  const { question: asked, head } = call
  // The primary's format must not be higher than the secondary's, because the secondary could misread its entries.
  if (asked.format < LINK_FORMAT) throw secondaryTooOldError(asked.format)
  const [dense, [keyring]] = await Promise.all([
    findDenseFrontier(ports.journal, head),
    ports.store.read([key('keyring')]),
  ])
  const [newest, held] = await Promise.all([
    readEntryTime(ports.journal, head, dense),
    asked.position.seq < dense ? readEntryTime(ports.journal, head, asked.position.seq) : undefined,
  ])
  const canaryHeld = isInJournal(head, asked.position) ? (held ?? newest) : undefined
  const updated = withHeartbeat(
    call.secondary.data,
    dropBadAddresses(asked, ports.deployment),
    call,
    canaryHeld,
  )
  if ((await ports.store.commit([replaceItem(call.secondary, call.secondary, updated)], call)) === 'conflict')
    throw concurrentCallsError()
  if (call.now - (newest ?? 0) > bounds.HEARTBEAT_MS) await writeCanary(ports.journal, head, call.now)
  const canaryAt = newest ?? 0
  return {
    seq: head.last,
    epoch: head.epoch,
    lineage: head.lineage,
    frontier: dense,
    canaryAt,
    format: LINK_FORMAT,
    term: keyring?.data.activeTerm ?? '',
    addresses: ownAddressesOf(call, ports),
    apiAddress: ports.deployment.apiAddress || call.reachedAt,
    memberAddresses: await readOtherMemberAddresses(ports, call.secondary.data.cluster),
  }
}

/** Drops unusable addresses of a heartbeat. The other fields of the heartbeat still count. */
const dropBadAddresses = (
  asked: MethodQuestion<'Heartbeat'>,
  rules: AddressRules,
): MethodQuestion<'Heartbeat'> => ({
  ...asked,
  address: normaliseMemberAddress(asked.address, rules) ?? '',
  apiAddress: normaliseMemberAddress(asked.apiAddress, rules) ?? '',
})

const withHeartbeat = (
  known: Secondary,
  {
    position,
    state,
    roundTripMs,
    format,
    address,
    apiAddress,
    ownTerm,
    maxEpoch,
  }: MethodQuestion<'Heartbeat'>,
  { now, envelope }: AdmittedLinkCall,
  canaryAt: number | undefined,
): Secondary => ({
  ...known,
  lastCallTime: Number(envelope.time),
  address: address || known.address,
  apiAddress,
  heartbeat: defined({
    at: now,
    roundTripMs,
    skewMs: clockSkewOf(envelope, now),
    state,
    format,
    epoch: position.epoch,
    seq: position.seq,
    canaryAt,
    ownTerm: ownTerm || undefined,
    maxEpoch: maxEpoch || undefined,
  }),
})

/**
 * Reports whether a position is in this journal. A position of a diverged journal says nothing about this journal's
 * entries.
 */
const isInJournal = ({ lineage }: JournalHead, { epoch, seq }: JournalPosition): boolean =>
  seq > 0 && epochAt(lineage, seq) === epoch

/** Returns when the entry of a position was written, epoch milliseconds; undefined if the entry is no longer kept. */
async function readEntryTime(
  journal: Pick<Journal, 'entries'>,
  { lineage }: JournalHead,
  seq: number,
): Promise<number | undefined> {
  const [entry] = seq > 0 ? await journal.entries(lineage, seq - 1, seq) : []
  return entry?.at
}

/**
 * Writes an empty journal entry with the present time. By the canary, secondaries of a quiet journal can tell that
 * replication works. The next heartbeat shows whether the write succeeded.
 */
async function writeCanary(
  journal: Pick<Journal, 'allocate' | 'putEntry'>,
  { epoch, mode }: JournalHead,
  now: number,
): Promise<void> {
  const place = mode === 'writing' ? await journal.allocate(epoch) : 'refused'
  if (place !== 'refused') await journal.putEntry(createNoopEntry({ epoch, seq: place.seq }, now))
}
