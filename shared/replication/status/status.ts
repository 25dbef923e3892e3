import { epochNumber } from '../../journal/position.ts'
import { type ClusterRecord, primaryOf } from '../../model/cluster.ts'
import type { FaultyPart, RecentFault } from '../../model/fault.ts'
import type { FenceOutcome } from '../../model/link.ts'
import type { ReadinessTried } from '../../model/secondary.ts'
import type { DrStatus, PrimaryStatus, SecondaryStatus, UnderWay } from '../../set/schema.ts'
import { bounds } from '../../values/bounds.ts'
import { printTime } from '../../values/time.ts'
import type { NotShown, ShownTerm } from './shown-terms.ts'

/** What the status of replication is made of. Positions are numbers of commits in the order of the set. */
export interface StatusFacts {
  /** absent: not initialised */
  record?: ClusterRecord | undefined
  journal?: JournalFacts | undefined
  /** of a primary, in the order in which their tokens were made, without revoked ones */
  secondaries?: readonly SecondaryFacts[]
  /** of a primary */
  terms?: readonly ShownTerm[]
  /** how many entries a bound on the length leaves out */
  notShown?: NotShown
  /** of a primary: what others of the set have said to its epoch, by address */
  fences?: readonly ShownFence[]
  /** what a secondary last heard of its primary */
  contact?: ShownContact | undefined
  /** whether a secondary could have taken over, as it was tried last */
  readiness?: ReadinessTried
  /** why a secondary that has nothing was given up by its activation */
  activationError?: string
  /** that holds the cluster record, or was given up last */
  operation?: OperationFacts
  /** what has failed lately while this cluster served */
  faults?: readonly (RecentFault & { part: FaultyPart })[]
  /** epoch milliseconds */
  now: number
}

/** A change of the cluster's role. Times are epoch milliseconds. */
export interface OperationFacts {
  id: string
  name: string
  /** that comes next, or where it was given up */
  step: string
  startedAt: number
  changedAt: number
  isRunning: boolean
  waitsUntil?: number
  /** why it was given up, or what went wrong where it goes on */
  error?: string
}

export interface JournalFacts {
  /** what the journal is doing: only one that writes is a running primary's */
  doing: 'writing' | 'closed' | 'applying' | 'draining' | 'syncing'
  /** the greatest position given away, or received */
  position: number
  /** up to where there is no gap: all of it is there for secondaries */
  frontier: number
  /** root of the tree of all items, hex; empty: not built yet */
  root: string
  /** the position that the root describes; absent: there is no root */
  rootPosition?: number
  /** epoch milliseconds at which the root was computed; absent: there is none, or an earlier version computed it */
  rootComputedAt?: number
  /** of the last position; empty: there is none */
  epoch: string
  /** items of a sync that have come, of how many */
  sync?: { done: number; total: number }
  /** how far the tree has been built: items that were there when it began, or pages that are made anew */
  building?: { stage: 'scanning' | 'building' | 'commit'; done: number; total: number }
  /** epoch milliseconds of the last check of the tree, and of the last time that it was made anew; absent: never */
  checkedAt?: number
  reindexedAt?: number
  /** something keeps a secondary from applying what it has */
  isStuck?: boolean
  /** a check, or a sync that ended nowhere, found the tree wrong */
  corrupted?: boolean
  /** tags of items that do not stay as the primary has them; absent: none */
  diverging?: readonly string[]
}

/** What a cluster of the set has said to this one's claim to be primary. */
export interface ShownFence extends Pick<FenceOutcome, 'result' | 'text' | 'at'> {
  address: string
}

/** A secondary as its primary knows it. */
export interface SecondaryFacts {
  id: string
  /** epoch milliseconds: its token may be used until then */
  expires: number
  /** where it is reached by the link; empty: it has never connected */
  address: string
  /** where clients reach it */
  apiAddress: string
  contact?: ShownContact | undefined
}

/** The last heartbeat that was answered. Times are epoch milliseconds by the own clock, but for the canary's. */
export interface ShownContact {
  at: number
  /** milliseconds from question to answer */
  roundTripMs: number
  /** milliseconds by which the other clock is ahead; uncertain by `roundTripMs` */
  skewMs: number
  /** of the newest canary that has arrived, by the primary's clock; absent: none yet */
  canaryAt?: number
  /** when this connection began */
  connectedSince?: number
  /** where the primary may be reached, as it told */
  addresses?: readonly string[]
  /** of a primary: the last position that it had given away, and where clients reach it */
  seq?: number
  apiAddress?: string
  /** the last question came to nothing: when, and what was said */
  refused?: { at: number; text: string }
}

/** Unix seconds of the time that means "never" for a check of the tree. */
const NEVER_CHECKED = '-62135596800'
const NEVER_REINDEXED = '0'

/** Digits of the root that are shown, as many as clients know. */
const ROOT_DIGITS = 40

const isHeard = (contact: ShownContact | undefined, now: number): boolean =>
  contact !== undefined && !contact.refused && now - contact.at < bounds.PEER_LOST_MS

/**
 * The `data` of GET sys/replication/dr/status. It is public: nothing in it is a secret.
 * @see docs/spec/status.md#status
 */
export function statusOf(facts: StatusFacts): DrStatus {
  const { record } = facts
  if (!record || record.mode === 'disabled')
    return { mode: 'disabled', ...underWay(facts), ...recentFaults(facts) }
  const shown = record.mode === 'primary' ? primaryStatus(record, facts) : secondaryStatus(record, facts)
  return { ...shown, ...underWay(facts), ...recentFaults(facts) }
}

/** Milliseconds after which a failure that did not come again counts as over: nobody has asked since, or others than who met it. */
const FAULT_LASTS_MS = 10 * 60_000
/** Milliseconds after which it is not shown any more. */
const FAULT_SHOWN_MS = 24 * 3600_000

/** What has failed lately: noted by the functions that met it, so that nobody is asked now. */
function recentFaults({ faults = [], now }: StatusFacts): UnderWay {
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

/** What changes the role, and what went wrong last: of an operation that was given up, or of asking the primary. */
function underWay({ operation, now, record, ...facts }: StatusFacts): UnderWay {
  const contact = record && primaryOf(record) ? facts.contact : undefined
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

/** The later one of both. */
function lastError(contact: ShownContact | undefined, failed?: OperationFacts): UnderWay {
  const { at = 0, text = '' } = contact?.refused ?? {}
  if (failed && failed.changedAt >= at) {
    const { id, name, step, changedAt, error = '' } = failed
    return { last_error: { text: error, time: secondsOf(changedAt), operation: { id, name, step } } }
  }
  return text === '' ? {} : { last_error: { text, time: secondsOf(at) } }
}

const epochOf = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : String(Math.floor(ms / 1000))

/** Promotions that the set has been through: every epoch has a number of its own, in all clusters of it. */
const generationOf = ({ epoch = '' }: Partial<Pick<JournalFacts, 'epoch'>> = {}): number =>
  Math.max(0, epochNumber(epoch) - 1)

/** How far the tree is. Where it is built, and no root of it is there yet, its hashes are being made. */
function buildingOf(journal: JournalFacts | undefined): JournalFacts['building'] {
  if (!journal || journal.building) return journal?.building
  const isLooked = journal.doing === 'writing' || journal.doing === 'applying'
  return isLooked && journal.root === '' ? { stage: 'commit', done: 0, total: 0 } : undefined
}

/** The root of the tree, and the position and the time that it is of. */
export const shownRoot = (
  journal: Pick<JournalFacts, 'root' | 'rootPosition' | 'rootComputedAt'> | undefined,
) => ({
  merkle_root: journal?.root.slice(0, ROOT_DIGITS) ?? '',
  merkle_root_at: journal?.rootPosition ?? 0,
  merkle_root_time: journal?.rootComputedAt === undefined ? '' : secondsOf(journal.rootComputedAt),
})

const common = ({ set }: ClusterRecord, journal: JournalFacts | undefined) => ({
  cluster_id: set ?? '',
  ...shownRoot(journal),
  corrupted_merkle_tree: journal?.corrupted ?? false,
  last_corruption_check_epoch: epochOf(journal?.checkedAt) ?? NEVER_CHECKED,
  last_reindex_epoch: epochOf(journal?.reindexedAt) ?? NEVER_REINDEXED,
  ssct_generation_counter: generationOf(journal),
  ...shownBuilding(buildingOf(journal)),
})

const shownBuilding = (building: JournalFacts['building']) =>
  building
    ? {
        reindex_in_progress: true,
        reindex_stage: building.stage,
        ...(building.stage === 'building'
          ? { reindex_building_progress: building.done, reindex_building_total: building.total }
          : {}),
      }
    : {}

const primaryStatus = (
  record: ClusterRecord,
  { journal, secondaries = [], terms = [], notShown, fences = [], now }: StatusFacts,
): PrimaryStatus => ({
  mode: 'primary',
  ...common(record, journal),
  state: journal?.doing === 'writing' ? 'running' : 'idle',
  primary_cluster_addr: record.clusterAddr ?? '',
  known_secondaries: secondaries.map(({ id }) => id),
  last_wal: journal?.position ?? 0,
  last_dr_wal: journal?.frontier ?? 0,
  secondaries: secondaries.map(one => secondaryPeer(one, now)),
  ...(terms.length > 0 ? { terms } : {}),
  ...(notShown && Object.values(notShown).some(count => count > 0) ? { not_shown: notShown } : {}),
  ...(fences.length > 0
    ? {
        fences: fences.map(({ address, at, result, text }) => ({
          cluster_address: address,
          result,
          text,
          since: secondsOf(at),
        })),
      }
    : {}),
})

const secondaryPeer = (
  { id, address, apiAddress, contact, expires }: SecondaryFacts,
  now: number,
): PrimaryStatus['secondaries'][number] => ({
  node_id: id,
  ...(address === '' && !contact
    ? { connection_status: 'disconnected', ...(expires <= now ? { expired: true } : {}) }
    : peerOf(apiAddress, address, contact && withCurrentCanary(contact, now), now)),
})

/**
 * While a secondary is connected it gets what is written, and how old its newest journal entry is shows by its last
 * heartbeat: that it has told nothing since does not make it older.
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
  ...(contact
    ? {
        last_heartbeat: secondsOf(contact.at),
        last_heartbeat_duration_ms: String(contact.roundTripMs),
        clock_skew_ms: String(contact.skewMs),
        ...(contact.canaryAt === undefined
          ? {}
          : { replication_primary_canary_age_ms: String(canaryAge(contact.canaryAt, now)) }),
      }
    : {}),
})

/** Milliseconds since the newest canary that has arrived; of clocks that disagree never less than none. */
const canaryAge = (canaryAt: number, now: number): number => Math.max(0, now - canaryAt)

const secondaryStatus = (record: ClusterRecord, facts: StatusFacts): SecondaryStatus => {
  const { journal, contact, activationError, readiness, now } = facts
  const link = primaryOf(record)
  const reported = contact?.addresses ?? []
  const known = link ? (reported.length > 0 ? reported : link.primaryAddrs) : []
  const primary = known[0] ?? link?.primaryAddr ?? ''
  return {
    mode: record.mode === 'bootstrapping' ? 'bootstrapping' : 'secondary',
    ...common(record, journal),
    state: activationError === undefined ? stateOf(facts) : 'idle',
    connection_state:
      activationError === undefined ? connectionOf(record, contact, now) : 'transient_failure',
    secondary_id: link?.secondaryId ?? '',
    primary_cluster_addr: link?.primaryAddr ?? '',
    known_primary_cluster_addrs: known,
    last_remote_wal: link ? (journal?.frontier ?? 0) : 0,
    last_start: link && contact?.connectedSince !== undefined ? secondsOf(contact.connectedSince) : '',
    primaries: link
      ? [
          {
            ...peerOf(contact?.apiAddress || primary, primary, contact && byOwnClock(contact), now),
            ...lastHeard(contact, journal),
          },
        ]
      : [],
    ...(activationError === undefined ? {} : { activation_error: activationError }),
    ...(readiness ? { readiness: shownReadiness(readiness) } : {}),
    ...(journal?.diverging ? { diverging_items: journal.diverging } : {}),
    ...(journal?.sync
      ? { merkle_sync_progress: { sync_progress: journal.sync.done, sync_total_keys: journal.sync.total } }
      : {}),
  }
}

const shownReadiness = ({ at, refusedBy }: ReadinessTried) => ({
  ready: refusedBy.length === 0,
  refused_by: refusedBy,
  tried: secondsOf(at),
})

/**
 * How far the primary was when it was heard last: what lies between that and the own position is missing if it never
 * comes back.
 */
const lastHeard = (contact: ShownContact | undefined, journal: JournalFacts | undefined) =>
  contact?.seq === undefined
    ? {}
    : {
        last_position: Math.max(contact.seq, journal?.position ?? 0),
        last_position_time: secondsOf(contact.at),
      }

// the primary dates its canaries, and its clock may be another
const byOwnClock = (contact: ShownContact): ShownContact => ({
  ...contact,
  ...(contact.canaryAt === undefined ? {} : { canaryAt: contact.canaryAt - contact.skewMs }),
})

const secondsOf = (ms: number): string => printTime(Math.floor(ms / 1000) * 1000)

/**
 * What a secondary is doing. It streams only while its primary answers, and is idle only where nothing goes on: a link
 * that has just begun is being compared.
 */
function stateOf({ record, journal, contact, operation, now }: StatusFacts): SecondaryStatus['state'] {
  if (record?.mode === 'bootstrapping') return 'merkle-diff'
  if (!record || !primaryOf(record) || !journal) return 'idle'
  const { doing, sync, isStuck } = journal
  if (doing === 'syncing') return sync ? 'merkle-sync' : 'merkle-diff'
  const isCompared = doing === 'closed' || (doing === 'draining' && !operation?.isRunning)
  if (isCompared && (!contact || isHeard(contact, now))) return isStuck ? 'idle' : 'merkle-diff'
  return isHeard(contact, now) && !isStuck ? 'stream-wals' : 'idle'
}

/** The link in the words of a gRPC channel, as the age of the last heartbeat tells it. */
function connectionOf(
  record: ClusterRecord,
  contact: ShownContact | undefined,
  now: number,
): SecondaryStatus['connection_state'] {
  if (!primaryOf(record)) return 'idle'
  if (!contact) return 'connecting'
  return isHeard(contact, now) ? 'ready' : 'transient_failure'
}
