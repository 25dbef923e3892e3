import { isDeepStrictEqual } from 'node:util'
import { epochNumber, isEpochOf, isEpochTooFarAhead } from '../../journal/position.ts'
import { stepDownAsPrimary } from '../../journal/step-down.ts'
import { headMoves } from '../../journal/transitions.ts'
import type { Secondary, SetMembership } from '../../model/link.ts'
import { wasPromotedRecently } from '../../model/operation.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { decodeBase64 } from '../../values/base64.ts'
import { normaliseMemberAddresses } from '../../values/member-address.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { readKnownSetMembers } from '../admin/known.ts'
import { isLinkCallSignedBy } from '../envelope.ts'
import { mergeMemberAddresses } from '../membership.ts'
import type { MethodQuestion, MethodReply } from '../methods.ts'
import { linkPublicKeysOf, parseLinkPublicKeys } from '../pair.ts'
import {
  callerUnnamedError,
  callSignatureError,
  concurrentCallsError,
  epochOfOtherClusterError,
  epochTooHighError,
  noLongerPrimaryError,
  selfFenceError,
  staleFenceError,
} from '../refusals.ts'
import { signMemberStatement } from '../statements.ts'
import { type FenceDecisionFacts, findFenceFault, includesMemberKey, type SetMemberKey } from '../trust.ts'
import { readMemberAddresses } from './addresses.ts'
import type { AdmittedLinkCall, AdmittedMethodCall, LinkServerPorts } from './ports.ts'
import { readServingHead } from './reading.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type TakeOver = MethodQuestion<'Fence'>

/**
 * Ends this cluster's epoch because another member of the set writes a later epoch. A repeated fence call gets the
 * same answer. A caller that this cluster does not know as a member changes nothing.
 * @throws LinkRefused
 */
export async function serveFence(
  ports: LinkServerPorts,
  call: AdmittedMethodCall<'Fence'>,
): Promise<MethodReply<'Fence'>> {
  const asked = call.question
  checkClaimant(asked, call)
  const head = await readServingHead(ports.journal)
  if (asked.epoch <= head.ownEpoch) {
    await wakeWorkerToFence(asked, call, ports).catch(() => undefined)
    throw staleFenceError(head.ownEpoch, asked.epoch)
  }
  if (isEpochTooFarAhead(asked.epoch, head.maxEpoch)) throw epochTooHighError(asked.epoch, head.ownEpoch)
  const fault = findFenceFault(await readFenceFacts(call, head, ports), { ...asked, id: asked.cluster })
  if (fault) throw fault
  await storeClaimant(asked, call, ports)
  const why = { reason: 'fence', successor: asked.cluster, below: asked.epoch } as const
  const end = await stepDownAsPrimary(ports, why, Buffer.from(call.envelope.nonce).toString('hex'))
  if (!end) throw noLongerPrimaryError()
  await raiseMaxEpoch(asked, ports)
  return makeAnswer(asked, call, end, ports)
}

/**
 * A primary with an earlier epoch has come back: this function wakes the worker, which fences the returned primary
 * now instead of in its next round. An unknown caller does not wake the worker. A caller that a newly promoted
 * cluster has already reached does not wake the worker either, because that cluster's rounds continue anyway.
 */
async function wakeWorkerToFence(
  asked: TakeOver,
  { record, now }: AdmittedLinkCall,
  ports: LinkServerPorts,
): Promise<void> {
  if (record.mode !== 'primary') return
  const [promoted, fences] = await ports.store.read([key('promoted'), key('fences')])
  const [address = ''] = asked.addresses
  if (wasPromotedRecently(promoted?.data, now) && fences?.data.outcomes[address]?.result !== 'silent') return
  const { keys } = await readKnownSetMembers(record, ports, 'all')
  if (includesMemberKey(keys, { id: asked.cluster, key: asked.key })) await ports.puller.wake()
}

/** Checks that a claimant signs with the key that it names, and claims an epoch of its own. */
function checkClaimant({ cluster, key: text, epoch, lineage }: TakeOver, call: AdmittedLinkCall): void {
  const { envelope, body, record } = call
  const signing = decodeBase64(text)
  if (signing?.length !== 32 || !UUID.test(cluster) || envelope.caller !== cluster) throw callerUnnamedError()
  if (!isLinkCallSignedBy(signing, 'Fence', envelope, body)) throw callSignatureError()
  if (cluster === record.id) throw selfFenceError()
  if (!isEpochOf(epoch, cluster) || lineage.at(-1)?.[0] !== epoch)
    throw epochOfOtherClusterError(epoch, cluster)
}

/**
 * Reads the keys that this cluster has admitted since it last joined a primary, and the clusters that any member of
 * the set has revoked.
 */
async function readFenceFacts(
  { record, set, question: { cluster } }: Pick<AdmittedMethodCall<'Fence'>, 'record' | 'set' | 'question'>,
  { ownEpoch, lineage }: Pick<FenceDecisionFacts, 'ownEpoch' | 'lineage'>,
  { store }: Pick<LinkServerPorts, 'store'>,
): Promise<FenceDecisionFacts> {
  const [[self], secondaries, holders] = await Promise.all([
    store.read([key('member', record.id)]),
    store.list(itemPartitions('secondary')),
    store.list(itemPartitions('holder')),
  ])
  const issuer = self?.data.issuer
  const counts = ({ epoch }: Secondary): boolean => issuer === undefined || epoch > issuer.epoch
  return {
    set,
    ownEpoch,
    lineage,
    issuer,
    abandonedUpTo: readAbandonedUpTo(cluster, secondaries),
    registered: secondaries.filter(({ data }) => counts(data)).flatMap(registeredKeys),
    // Revocations by any cluster of the set count. A later admission would have removed the revocation.
    revoked: holders.filter(({ data }) => data.revoked).map(({ sk }) => sk),
  }
}

/**
 * Returns the highest epoch number that a cluster had seen at its last heartbeat, according to the cluster's newest
 * admission. A cluster that was wiped since then has reported a lower number.
 */
function readAbandonedUpTo(cluster: string, secondaries: readonly Item<'secondary'>[]): number {
  const [newest] = secondaries
    .filter(({ data }) => data.cluster === cluster && data.activatedAt !== undefined)
    .toSorted((one, other) => (other.data.activatedAt ?? 0) - (one.data.activatedAt ?? 0))
  return newest?.data.heartbeat?.maxEpoch ?? 0
}

function registeredKeys({ data }: Item<'secondary'>): SetMemberKey[] {
  const { cluster, publicKey, activatedAt, revokedAt, previousClusters = [] } = data
  const now = activatedAt !== undefined && revokedAt === undefined && cluster && publicKey
  return [...previousClusters, ...(now ? [{ cluster, publicKey }] : [])].flatMap(one => {
    const keys = parseLinkPublicKeys(one.publicKey)
    return keys ? [{ id: one.cluster, key: keys.signing.toString('base64') }] : []
  })
}

/** The number of tries to store the claimant while other calls of the same claimant store it too. */
const STORE_TRIES = 5

/**
 * Stores the claimant's key, epoch, batch-token signers and address. A repeated call finds the claimant's
 * statements stored and writes nothing. A replayed call of an earlier epoch writes nothing either.
 */
async function storeClaimant(
  { cluster, key: signing, epoch: claimed, addresses, signers }: TakeOver,
  call: AdmittedLinkCall,
  { store, deployment }: LinkServerPorts,
): Promise<void> {
  const place = key('member', cluster)
  const noted = await retryOnConflict({ tries: STORE_TRIES }, async () => {
    const [before] = await store.read([place])
    const known: SetMembership = before?.data ?? { statements: [], addresses: [] }
    const all = mergeMemberAddresses(
      known.addresses,
      normaliseMemberAddresses(addresses.slice(0, 1), deployment),
    )
    const met: SetMembership = { ...known, addresses: all, key: signing, claimedEpoch: claimed, signers }
    if (claimed < (known.claimedEpoch ?? '') || isDeepStrictEqual(met, known)) return ok()
    return (await store.commit([replaceItem(place, before, met)], call)) === 'conflict'
      ? CONFLICT_RESULT
      : ok()
  })
  if (!noted.ok) throw concurrentCallsError()
}

/** The number of tries to raise the epoch number while other claimants fence this cluster too. */
const RAISE_TRIES = 10

/**
 * Stores the claimant's epoch number, so that this cluster's next epoch gets a higher number, even if the journal
 * was closed before. Stores the claimant as the only successor of the closed epoch.
 */
async function raiseMaxEpoch(
  { cluster: successor, epoch: later }: TakeOver,
  { journal }: LinkServerPorts,
): Promise<void> {
  for (let tries = 0; tries < RAISE_TRIES; tries++) {
    const head = await journal.head()
    const number = epochNumber(later)
    if (
      head?.mode !== 'closed' ||
      number < head.maxEpoch ||
      (number === head.maxEpoch && head.successor === successor)
    )
      return
    await journal.moveHead(headMoves.noteFence(head, successor, number))
  }
  throw concurrentCallsError()
}

/**
 * Makes the answer to a fence. The caller is still a member on this cluster, because only a primary revokes, and
 * this cluster has stepped down.
 */
async function makeAnswer(
  { cluster: id, key: itsKey, epoch }: TakeOver,
  call: AdmittedLinkCall,
  end: { epoch: string; seq: number },
  ports: LinkServerPorts,
): Promise<MethodReply<'Fence'>> {
  const { set, record, pair } = call
  const [self] = await ports.store.read([key('member', record.id)])
  return {
    ...end,
    voucher: signMemberStatement(pair.signing, { set, issuer: record.id, subject: id, key: itsKey, epoch }),
    cluster: record.id,
    key: linkPublicKeysOf(pair).signing.toString('base64'),
    chain: self?.data.statements ?? [],
    addresses: await readMemberAddresses(call, ports),
  }
}
