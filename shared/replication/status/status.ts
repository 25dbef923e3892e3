import type { JournalHead } from '../../journal/head.ts'
import { epochNumber } from '../../journal/position.ts'
import { type ClusterRecord, linkToPrimaryOf } from '../../model/cluster.ts'
import type { FaultyPart, RecentFault } from '../../model/fault.ts'
import type { FenceOutcome, PrimaryContact, Secondary } from '../../model/link.ts'
import type { OperationState } from '../../model/operation.ts'
import type { ReadinessTest } from '../../model/secondary.ts'
import type { DrStatus, PrimaryStatus, SecondaryStatus, UnderWayFields } from '../../set/schema.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'
import { formatTime } from '../../values/time.ts'
import type { HiddenTermNotes, ShownTerm } from './shown-terms.ts'

/** The facts that status shows. Positions in the status count the commits of the set. */
export interface StatusFacts {
  /** the cluster record; absent: not initialised */
  record?: ClusterRecord | undefined
  journal?: JournalFacts | undefined
  /** `secondaries` of a primary that are not revoked, in the order in which their tokens were made */
  secondaries?: readonly SecondaryFacts[]
  /** of a primary */
  terms?: readonly ShownTerm[]
  /** how many entries status omits to stay short */
  notShown?: HiddenTermNotes
  /** `fences` of a primary: the answers of other clusters to the primary's fences, by address */
  fences?: readonly ShownFence[]
  /** `contact` of a secondary: the last heartbeat to its primary */
  contact?: ShownContact | undefined
  /** `readiness` of a secondary: the last readiness trial */
  readiness?: ReadinessTest
  /** why the activation of a secondary without items failed */
  activationError?: string
  /** `operation` is the running operation, or the operation that failed last */
  operation?: OperationFacts
  /** region that the cluster runs in; absent: unknown */
  region?: string | undefined
  /** recent failures while this cluster served clients */
  faults?: readonly (RecentFault & { part: FaultyPart })[]
  /** epoch milliseconds */
  now: number
}

/**
 * A change of the cluster's role. `step`: the operation's next step, or the failed step. `error`: why it failed, or
 * the fault of a step that is repeated.
 */
export interface OperationFacts
  extends Pick<OperationState, 'name' | 'step' | 'startedAt' | 'changedAt' | 'waitsUntil'> {
  id: string
  isRunning: boolean
  error?: string
}

/** The head of the journal; only a serving primary has the mode `writing`. And the state of the tree. */
export interface JournalFacts extends Pick<JournalHead, 'mode' | 'last' | 'applied' | 'epoch'> {
  /** `root` of the tree of all items, hex; empty: not built yet */
  root: string
  /** `rootPosition` is the position of the root; absent: the tree has no root */
  rootPosition?: number
  /**
   * `rootComputedAt`: epoch milliseconds at which the root was computed; absent: no root, or an earlier version
   * computed the root
   */
  rootComputedAt?: number
  /** `sync`: number of items that a sync has fetched, and the total number of items */
  sync?: { done: number; total: number }
  /** progress of building the tree: items that existed at the beginning, or pages in a reindex */
  building?: { stage: 'scanning' | 'building' | 'commit'; done: number; total: number }
  /** epoch milliseconds of the last check of the tree, and of the last reindex; absent: never */
  checkedAt?: number
  reindexedAt?: number
  /** `isStuck`: whether a secondary cannot apply the entries that it has received */
  isStuck?: boolean
  /** `corrupted`: whether a check found the tree corrupted, or items keep differing from the primary's */
  corrupted?: boolean
  /** `diverging` has the tags of items that keep differing from the primary's; absent: no such items */
  diverging?: readonly string[]
}

/** The answer of a cluster of the set to this primary's fence. */
export type ShownFence = Pick<FenceOutcome, 'result' | 'text' | 'at'> & { address: string }

/**
 * A secondary as its primary knows it. `heartbeat`: the secondary's last heartbeat; absent: the secondary has never
 * connected.
 */
export type SecondaryFacts = Pick<Secondary, 'id' | 'expires' | 'address' | 'apiAddress' | 'heartbeat'>

/** The last answered heartbeat, from or to another cluster. `canaryAt`: absent if no canary has arrived. */
export type ShownContact = Pick<PrimaryContact, 'at' | 'roundTripMs' | 'skewMs'> &
  Partial<
    Pick<PrimaryContact, 'canaryAt' | 'connectedSince' | 'addresses' | 'seq' | 'apiAddress' | 'failedCall'>
  >

/** Unix seconds that mean "never" for a check of the tree. */
const NEVER_CHECKED = '-62135596800'
const NEVER_REINDEXED = '0'

/** Digits of the root that are shown; Vault's clients expect this many. */
const ROOT_DIGITS = 40

const isHeard = (contact: ShownContact | undefined, now: number): boolean =>
  contact !== undefined && !contact.failedCall && now - contact.at < bounds.PEER_LOST_MS

/**
 * Returns the `data` of GET sys/replication/dr/status. The replication status is public, so the answer contains no
 * secret.
 * @see docs/spec/status.md#status
 */
export function buildDrStatus(facts: StatusFacts): DrStatus {
  const { record } = facts
  if (!record || record.mode === 'disabled')
    return { mode: 'disabled', ...underWay(facts), ...recentFaults(facts) }
  const shown = record.mode === 'primary' ? primaryStatus(record, facts) : secondaryStatus(record, facts)
  return { ...shown, ...underWay(facts), ...recentFaults(facts) }
}

/** Milliseconds after which a failure without a repetition counts as over. */
const FAULT_LASTS_MS = 10 * 60_000
/** Milliseconds after which a failure is no longer shown. */
const FAULT_SHOWN_MS = 24 * 3600_000

/**
 * Returns the recent failures of this cluster's functions. The functions that met these failures have stored them,
 * so status makes no calls.
 */
function recentFaults({ faults = [], now }: StatusFacts): UnderWayFields {
  const shown = faults.filter(({ at }) => now - at < FAULT_SHOWN_MS)
  if (shown.length === 0) return {}
  return {
    recent_faults: shown.map(({ part, text, since, at, endedAt }) => ({
      part,
      ongoing: endedAt === undefined && now - at < FAULT_LASTS_MS,
      text,
      since: secondsOf(since),
      last: secondsOf(at),
      ended: endedAt === undefined ? '' : secondsOf(endedAt),
    })),
  }
}

/** Returns the running operation, and the last error: of a failed operation, or of a call to the primary. */
function underWay({ operation, now, record, ...facts }: StatusFacts): UnderWayFields {
  const contact = record && linkToPrimaryOf(record) ? facts.contact : undefined
  if (operation?.isRunning) return { operation: shownOperation(operation, now), ...lastError(contact) }
  return operation?.error === undefined ? lastError(contact) : lastError(contact, operation)
}

const shownOperation = (
  { id, name, step, startedAt, waitsUntil = 0, error = '' }: OperationFacts,
  now: number,
) => ({
  id,
  name,
  step,
  since: secondsOf(startedAt),
  waits_until: waitsUntil > now ? secondsOf(waitsUntil) : '',
  error,
})

/** Returns the later of two errors. */
function lastError(contact: ShownContact | undefined, failed?: OperationFacts): UnderWayFields {
  const { at = 0, text = '' } = contact?.failedCall ?? {}
  if (failed && failed.changedAt >= at) {
    const { id, name, step, changedAt, error = '' } = failed
    return { last_error: { text: error, time: secondsOf(changedAt), operation: { id, name, step } } }
  }
  return text === '' ? {} : { last_error: { text, time: secondsOf(at) } }
}

const epochOf = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : String(Math.floor(ms / 1000))

/** Returns the number of promotions of the set. Every epoch has the same number in all clusters. */
const generationOf = ({ epoch = '' }: Partial<Pick<JournalFacts, 'epoch'>> = {}): number =>
  Math.max(0, epochNumber(epoch) - 1)

/** Returns the progress of the tree. A tree without a root is in the stage of computing its hashes. */
function buildingOf(journal: JournalFacts | undefined): JournalFacts['building'] {
  if (!journal || journal.building) return journal?.building
  const isLooked = journal.mode === 'writing' || journal.mode === 'applying'
  return isLooked && journal.root === '' ? { stage: 'commit', done: 0, total: 0 } : undefined
}

/** Returns the root of the tree with its position and time. */
export const toShownRoot = (
  journal: Pick<JournalFacts, 'root' | 'rootPosition' | 'rootComputedAt'> | undefined,
) => ({
  merkle_root: journal?.root.slice(0, ROOT_DIGITS) ?? '',
  merkle_root_at: journal?.rootPosition ?? 0,
  merkle_root_time: journal?.rootComputedAt === undefined ? '' : secondsOf(journal.rootComputedAt),
})

const common = (
  { set, modeSince }: ClusterRecord,
  { journal, region }: Pick<StatusFacts, 'journal' | 'region'>,
) => ({
  ...defined({ role_since: modeSince === undefined ? undefined : secondsOf(modeSince), region }),
  cluster_id: set ?? '',
  ...toShownRoot(journal),
  corrupted_merkle_tree: journal?.corrupted ?? false,
  last_corruption_check_epoch: epochOf(journal?.checkedAt) ?? NEVER_CHECKED,
  last_reindex_epoch: epochOf(journal?.reindexedAt) ?? NEVER_REINDEXED,
  ssct_generation_counter: generationOf(journal),
  ...shownBuilding(buildingOf(journal)),
})

const shownBuilding = (building: JournalFacts['building']) =>
  building && {
    reindex_in_progress: true,
    reindex_stage: building.stage,
    ...(building.stage === 'building' && {
      reindex_building_progress: building.done,
      reindex_building_total: building.total,
    }),
  }

const primaryStatus = (
  record: ClusterRecord,
  { journal, region, secondaries = [], terms = [], notShown, fences = [], now }: StatusFacts,
): PrimaryStatus => ({
  mode: 'primary',
  ...common(record, { journal, region }),
  state: journal?.mode === 'writing' ? 'running' : 'idle',
  primary_cluster_addr: record.clusterAddr ?? '',
  known_secondaries: secondaries.map(({ id }) => id),
  last_wal: journal?.last ?? 0,
  last_dr_wal: journal?.applied ?? 0,
  secondaries: secondaries.map(one => secondaryPeer(one, now)),
  ...(terms.length > 0 && { terms }),
  ...(notShown && Object.values(notShown).some(count => count > 0) && { not_shown: notShown }),
  ...(fences.length > 0 && { fences: fences.map(shownFence) }),
})

const shownFence = ({ address, at, result, text }: ShownFence) => ({
  cluster_address: address,
  result,
  text,
  since: secondsOf(at),
})

const secondaryPeer = (
  { id, address, apiAddress, heartbeat: contact, expires }: SecondaryFacts,
  now: number,
): PrimaryStatus['secondaries'][number] => ({
  node_id: id,
  ...(address === '' && !contact
    ? { connection_status: 'disconnected', ...(expires <= now ? { expired: true } : {}) }
    : peerOf(apiAddress, address, contact && withCurrentCanary(contact, now), now)),
})

/**
 * Returns the state of the contact with the canary at present. A connected secondary receives every new entry, so
 * the age of its newest entry is the age at its last heartbeat.
 */
const withCurrentCanary = (contact: ShownContact, now: number): ShownContact =>
  contact.canaryAt === undefined || !isHeard(contact, now)
    ? contact
    : { ...contact, canaryAt: contact.canaryAt + (now - contact.at) }

const peerOf = (
  apiAddress: string,
  address: string,
  contact: ShownContact | undefined,
  now: number,
): SecondaryStatus['primaries'][number] => ({
  api_address: apiAddress,
  cluster_address: address,
  connection_status: isHeard(contact, now) ? 'connected' : 'disconnected',
  ...(contact && {
    last_heartbeat: secondsOf(contact.at),
    last_heartbeat_duration_ms: String(contact.roundTripMs),
    clock_skew_ms: String(contact.skewMs),
    // 0 if the clocks disagree
    ...(contact.canaryAt !== undefined && {
      replication_primary_canary_age_ms: String(Math.max(0, now - contact.canaryAt)),
    }),
  }),
})

const secondaryStatus = (record: ClusterRecord, facts: StatusFacts): SecondaryStatus => {
  const { journal, contact, activationError, readiness, now } = facts
  const link = linkToPrimaryOf(record)
  const reported = contact?.addresses ?? []
  const known = link ? (reported.length > 0 ? reported : link.primaryAddrs) : []
  const primary = known[0] ?? link?.primaryAddr ?? ''
  const { sync } = journal ?? {}
  return {
    mode: record.mode === 'bootstrapping' ? 'bootstrapping' : 'secondary',
    ...common(record, facts),
    state: activationError === undefined ? stateOf(facts) : 'idle',
    connection_state:
      activationError === undefined ? connectionOf(record, contact, now) : 'transient_failure',
    secondary_id: link?.secondaryId ?? '',
    primary_cluster_addr: link?.primaryAddr ?? '',
    known_primary_cluster_addrs: known,
    last_remote_wal: link ? (journal?.applied ?? 0) : 0,
    last_start: link && contact?.connectedSince !== undefined ? secondsOf(contact.connectedSince) : '',
    primaries: link
      ? [
          {
            ...peerOf(contact?.apiAddress || primary, primary, contact && byOwnClock(contact), now),
            ...lastHeard(contact, journal),
          },
        ]
      : [],
    ...defined({
      activation_error: activationError,
      readiness: readiness && shownReadiness(readiness),
      diverging_items: journal?.diverging,
      merkle_sync_progress: sync && { sync_progress: sync.done, sync_total_keys: sync.total },
    }),
  }
}

const shownReadiness = ({ at, refusedBy }: ReadinessTest) => ({
  ready: refusedBy.length === 0,
  refused_by: refusedBy,
  tried: secondsOf(at),
})

/**
 * Returns the last known position of the primary. If the primary never returns, every commit between its position
 * and this cluster's position is lost.
 */
const lastHeard = (contact: ShownContact | undefined, journal: JournalFacts | undefined) =>
  contact?.seq === undefined
    ? {}
    : {
        last_position: Math.max(contact.seq, journal?.last ?? 0),
        last_position_time: secondsOf(contact.at),
      }

// the primary dates its canaries by its own clock
const byOwnClock = (contact: ShownContact): ShownContact => ({
  ...contact,
  ...(contact.canaryAt === undefined ? {} : { canaryAt: contact.canaryAt - contact.skewMs }),
})

const secondsOf = (ms: number): string => formatTime(Math.floor(ms / 1000) * 1000)

/**
 * Returns the state of a secondary. A secondary is streaming only while its primary answers, and idle only if
 * nothing happens; a link that has just begun is being compared.
 */
function stateOf({ record, journal, contact, operation, now }: StatusFacts): SecondaryStatus['state'] {
  if (record?.mode === 'bootstrapping') return 'merkle-diff'
  if (!record || !linkToPrimaryOf(record) || !journal) return 'idle'
  const { mode, sync, isStuck } = journal
  if (mode === 'syncing') return sync ? 'merkle-sync' : 'merkle-diff'
  const isCompared = mode === 'closed' || (mode === 'draining' && !operation?.isRunning)
  if (isCompared && (!contact || isHeard(contact, now))) return isStuck ? 'idle' : 'merkle-diff'
  return isHeard(contact, now) && !isStuck ? 'stream-wals' : 'idle'
}

/** Returns the state of the link in the terms of a gRPC channel, by the age of the last heartbeat. */
function connectionOf(
  record: ClusterRecord,
  contact: ShownContact | undefined,
  now: number,
): SecondaryStatus['connection_state'] {
  if (!linkToPrimaryOf(record)) return 'idle'
  if (!contact) return 'connecting'
  return isHeard(contact, now) ? 'ready' : 'transient_failure'
}
