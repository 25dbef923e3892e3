import type { ClusterRecord } from '../../model/cluster.ts'
import type { FenceOutcome, FenceRecord, SetMembership } from '../../model/link.ts'
import { wasPromotedRecently } from '../../model/operation.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { CONFLICT_RESULT, ok, type Result } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { type KnownSetMembers, readKnownSetMembers } from '../admin/known.ts'
import { addVouchersToMembership } from '../membership.ts'
import { type FenceCall, type FencingPorts, readOwnSigners } from './fence-call.ts'

/** Characters of an answer's text that are kept. */
const LONGEST_TEXT = 300

/** The proofs that a cluster can send with a fence. */
export interface SendableProofs {
  /** number of statements */
  chain: number
  /** number of batch-token signers; 0 if no other cluster still needs one */
  signers: number
}

/** A primary's knowledge about the clusters that it has to fence. */
export interface StoredFenceState {
  /** `readAt`: epoch milliseconds when this knowledge was read */
  readAt: number
  record: ClusterRecord
  fences: Item<'fences'> | undefined
  /** `outcomes` of fences of the present epoch, by address */
  outcomes: FenceRecord['outcomes']
  known: KnownSetMembers
  shown: SendableProofs
  /** `isQuick`: this cluster was promoted at most ten minutes ago */
  isQuick: boolean
}

type StorePorts = Pick<FencingPorts, 'store' | 'clock' | 'log' | 'deployment'>

/**
 * Reads the state of this primary's fences.
 * @param whom `all`: followers included
 * @returns undefined if this cluster is not a primary
 */
export async function readFenceState(
  ports: StorePorts,
  whom: 'due' | 'all',
): Promise<StoredFenceState | undefined> {
  const readAt = ports.clock.now()
  const places = [key('cluster'), key('fences'), key('promoted')] as const
  const [record, fences, promoted] = await ports.store.read(places)
  if (record?.data.mode !== 'primary') return undefined
  const outcomes = (fences?.data.epoch === record.data.epoch && fences?.data.outcomes) || {}
  const known = await readKnownSetMembers(record.data, ports, whom)
  const isQuick = wasPromotedRecently(promoted?.data, readAt)
  const signers = Object.values(outcomes).some(waitsForSigner)
    ? await readOwnSigners(record.data.id, ports)
    : []
  const shown = { chain: known.self?.data.statements.length ?? 0, signers: signers.length }
  return { readAt, record: record.data, fences, outcomes, known, shown, isQuick }
}

/** Reports whether a cluster acknowledged before this cluster had a batch-token signer. */
const waitsForSigner = ({ result, signers }: FenceOutcome): boolean =>
  result === 'acknowledged' && !(signers > 0)

/**
 * Reports whether the worker has to call an address again.
 * @param shown the proofs that this cluster can send now
 */
export const isFenceDue = (before: FenceOutcome | undefined, { chain, signers }: SendableProofs): boolean =>
  before === undefined ||
  before.result === 'silent' ||
  before.result === 'refused' ||
  (before.result === 'denied' && chain > before.statements) ||
  (waitsForSigner(before) && signers > 0)

/** Returns the addresses that the worker has to call. */
export const listFenceAddressesDue = ({ known, outcomes, shown }: StoredFenceState): string[] =>
  known.addresses.filter(one => isFenceDue(outcomes[one], shown))

/**
 * Reports whether the outcome of a fence is still current. Outcomes that acknowledge the end of an epoch are always
 * current. Other outcomes are stale once the cluster at that address follows this cluster.
 */
const isCurrentOutcome = (
  address: string,
  { result }: FenceOutcome,
  { addresses }: KnownSetMembers,
): boolean => result === 'acknowledged' || addresses.includes(address)

/** Reports whether stale outcomes are stored, which have to be dropped. */
export const hasStaleFenceOutcomes = ({ outcomes, known }: StoredFenceState): boolean =>
  !Object.entries(outcomes).every(([address, one]) => isCurrentOutcome(address, one, known))

/** The stored results of some fence calls. */
export interface StoredFenceResults {
  outcomes: FenceRecord['outcomes']
  /** `shown`: the proofs that this cluster can send now */
  shown: SendableProofs
  /** `hasNewProofs`: the cluster has more statements or addresses than before */
  hasNewProofs: boolean
  isQuick: boolean
}

/** The number of tries to store outcomes while other runs store outcomes too. */
const NOTES = 10

/**
 * Stores the outcomes of calls, and the statements and addresses from the answers. The function drops outcomes of
 * clusters that follow this cluster now.
 * @param epoch for which the calls were made
 * @returns undefined if this cluster's epoch has ended
 */
export async function storeFenceOutcomes(
  calls: readonly FenceCall[],
  epoch: string,
  ports: StorePorts,
): Promise<StoredFenceResults | undefined> {
  const noted = await retryOnConflict({ tries: NOTES }, async () => {
    const stand = await readFenceState(ports, 'due')
    if (!stand || stand.record.epoch !== epoch) return ok()
    return storeOnce(calls, epoch, stand, ports)
  })
  if (!noted.ok)
    throw new Error(
      'the outcomes of fences could not be stored, because other runs store theirs at the same time',
    )
  return noted.value
}

async function storeOnce(
  calls: readonly FenceCall[],
  epoch: string,
  { readAt, record, fences, outcomes: before, known, shown, isQuick }: StoredFenceState,
  { store, log }: StorePorts,
): Promise<Result<StoredFenceResults, 'conflict'>> {
  const kept = Object.entries(before).filter(([address, one]) => isCurrentOutcome(address, one, known))
  const outcomes = { ...Object.fromEntries(kept), ...outcomesOf(calls, before, readAt) }
  const changed = Object.entries(outcomes).filter(([address, one]) => before[address] !== one)
  const self = addVouchersToMembership(known.self?.data, {
    vouchers: calls.flatMap(({ voucher }) => (voucher ? [voucher] : [])),
    addresses: calls.flatMap(({ addresses }) => addresses),
  })
  const hasNewProofs = hasGrown(known.self?.data, self)
  const next: FenceRecord = { epoch, outcomes: outcomes }
  const changes = [
    ...(changed.length > 0 || kept.length < Object.keys(before).length
      ? [replaceItem(key('fences'), fences, next)]
      : []),
    ...(hasNewProofs ? [replaceItem(key('member', record.id), known.self, self)] : []),
  ]
  if (changes.length > 0 && (await store.commit(changes, { record, readAt })) === 'conflict')
    return CONFLICT_RESULT
  for (const [address, { result, text }] of changed) log.info('fence', { address, result, text })
  return ok({ outcomes, shown: { ...shown, chain: self.statements.length }, hasNewProofs, isQuick })
}

/**
 * Returns the fence outcomes to store. An outcome that equals the stored outcome keeps the stored time.
 * @param at epoch milliseconds
 */
const outcomesOf = (
  calls: readonly FenceCall[],
  before: FenceRecord['outcomes'],
  at: number,
): FenceRecord['outcomes'] =>
  Object.fromEntries(
    calls.map(({ address, result, text: whole, chain, signers }) => {
      const next: FenceOutcome = {
        result,
        text: whole.slice(0, LONGEST_TEXT),
        statements: chain,
        signers,
        at,
      }
      const last = before[address]
      return [address, last && isSame(last, next) ? last : next]
    }),
  )

const isSame = (one: FenceOutcome, other: FenceOutcome): boolean =>
  one.result === other.result &&
  one.text === other.text &&
  one.statements === other.statements &&
  one.signers === other.signers

const hasGrown = (before: SetMembership | undefined, after: SetMembership): boolean =>
  after.statements.length !== (before?.statements.length ?? 0) ||
  after.statements.at(-1)?.signature !== before?.statements.at(-1)?.signature ||
  after.addresses.length !== (before?.addresses.length ?? 0)
