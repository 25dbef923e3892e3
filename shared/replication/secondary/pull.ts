import { NO_TERMS_NEEDED } from '../../journal/terms.ts'
import { addVouchersToMembership } from '../../link/membership.ts'
import type { HeartbeatAnswer } from '../../link/source.ts'
import type { PullerState } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { putItem, removeItemIfUnchanged, replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { pollWhilePending } from '../../values/retrying.ts'
import { requestSync } from '../sync/sync.ts'
import type { ConnectToPeer } from './connect.ts'
import { divergingKeysOf, toItemPlaces } from './diverging.ts'
import { takeFollowStep } from './follow.ts'
import {
  createFollower,
  type Follower,
  type FollowerPorts,
  type FollowerProgress,
  fetchNeededTerms,
  isLinkReplaced,
  type StreamState,
  sendHeartbeat,
} from './follower.ts'
import { addLagToHistory } from './lag-history.ts'
import { toUnansweredCall } from './silence.ts'

/**
 * Milliseconds between two checks whether the previous run has ended. Once a minute no run follows the primary for
 * this long.
 */
const STANDBY_MS = 500

/** The time limits of a run that follows the primary. */
interface PullTimes {
  /** epoch milliseconds at which the run ends */
  readonly deadline: number
  /**
   * The run waits for the lease, instead of ending at once, if another run holds the lease. Only the run of every
   * minute waits for the lease. If the run of every minute did not wait, a run that a notice started could end
   * between two of them, and heartbeats would stop until the next one.
   */
  readonly waitsForLease?: boolean
  /** `afterHeartbeat` is called after each heartbeat, so that only one run at a time calls the primary */
  readonly afterHeartbeat?: (() => Promise<void>) | undefined
}

/** Follows the primary until time runs out. The lease allows one run at a time; two concurrent runs would do no harm. */
export async function pullFromPrimary(
  ports: FollowerPorts,
  connect: ConnectToPeer,
  { deadline, waitsForLease = false, afterHeartbeat }: PullTimes,
): Promise<void> {
  const free = await awaitLease(ports, waitsForLease ? deadline - STANDBY_MS : 0)
  if (!free) return
  const [before, recovery, notice] = free
  let next = 0
  // a sync pauses between two pages to send the heartbeat
  const hasTime = () => ports.clock.now() < Math.min(next, deadline)
  const reported = recovery ? undefined : before?.data
  const first = await createFollower(ports, connect, { hasTime, reported })
  const cluster = await first?.cluster()
  if (!first || !cluster) return
  if (recovery) await restartLink(first, recovery)
  const pulling: Pulling = {
    ports,
    follower: first,
    holder: ports.entropy.uuid(),
    since: ports.clock.now(),
    attention: beginAttention(notice),
  }
  let lease = before
  while (ports.clock.now() < deadline) {
    const { follower } = pulling
    if (ports.clock.now() >= next || (!follower.session.source && follower.link)) {
      next = ports.clock.now() + bounds.HEARTBEAT_MS
      await contactPrimary(pulling)
      const renewed = await renewLease(pulling, lease)
      if (!renewed) return
      lease = renewed.item
      await afterHeartbeat?.()
    }
    const progress = await tryFollowStep(follower)
    if (progress === 'replaced' && !(await relink(pulling, connect))) break
    if (progress === 'stopped' && (!follower.link || follower.session.reported.fault !== undefined)) break
    if (progress !== 'worked')
      await restUntilNextCall(ports, follower, pulling.attention, Math.min(next, deadline))
  }
  await renewLease(pulling, lease, 0)
  // a notice that arrived while this run held the lease has started no other run
  if (await takeNotice(ports, pulling.attention)) await tryFollowStep(pulling.follower)
}

/**
 * Waits until no other run holds the lease, and returns the lease; undefined if another run still holds it at
 * `end`.
 */
async function awaitLease({ store, clock }: FollowerPorts, end: number) {
  const free = await pollWhilePending(clock, { everyMs: STANDBY_MS, until: end }, async () => {
    const found = await store.read([key('puller'), key('recovery'), key('notice')])
    const [lease] = found
    return !lease || lease.data.until <= clock.now() ? ok(found) : PENDING_RESULT
  })
  return free.ok ? free.value : undefined
}

interface Pulling {
  readonly ports: FollowerPorts
  /** `follower` follows by the link in the cluster record that this run read last */
  follower: Follower
  readonly holder: string
  /** `since`: epoch milliseconds of the primary's first answer in this run */
  since: number
  readonly attention: Attention
}

/** Continues with the link in the cluster record. @returns false if this cluster is no longer a secondary */
async function relink(pulling: Pulling, connect: ConnectToPeer): Promise<boolean> {
  const { hasTime } = pulling.follower
  const follower = await createFollower(pulling.ports, connect, { hasTime })
  if (!follower) return false
  pulling.follower = follower
  pulling.since = pulling.ports.clock.now()
  return true
}

/** Takes one step of following. After a fault of the link, the run sends a heartbeat before any other call. */
async function tryFollowStep(follower: Follower): Promise<FollowerProgress> {
  try {
    return await takeFollowStep(follower)
  } catch (error) {
    delete follower.session.source
    follower.own.log.warn('following the primary was interrupted', { error: String(error) })
    return 'waiting'
  }
}

/** Sends a heartbeat, and stores the answer for status. */
async function contactPrimary({ ports, follower, since }: Pulling): Promise<void> {
  const cluster = await follower.cluster()
  follower.session.roleChangePending = cluster?.record.operation !== undefined
  const head = await ports.journal.head()
  if (!follower.link || !cluster || (head && isLinkReplaced(follower, head))) return
  const place = key('contact')
  const [before, known] = await ports.store.read([place, key('member', cluster.record.id)])
  try {
    const { lineage: _, time: __, format: ___, ...answered } = await sendHeartbeat(follower)
    // a heartbeat takes seconds, and commits need a fresh cluster record
    const now = await follower.cluster()
    if (!now) return
    const contact = {
      ...answered,
      at: ports.clock.now(),
      connectedSince: since,
      canaryAt: canaryOf(answered, follower.session.streaming),
    }
    const lags = addLagToHistory(before?.data, contact)
    await ports.store.commit([putItem(place, { ...contact, lags })], now)
    await rememberAddresses(ports, follower, answered.addresses)
    await rememberMembers(ports, now, known, [...answered.addresses, ...answered.memberAddresses])
    // a take-over needs the primary's newest term, even if nothing is encrypted with it yet
    await fetchNeededTerms(follower, NO_TERMS_NEEDED)
  } catch (error) {
    delete follower.session.source
    const refused = toUnansweredCall(error, before?.data, ports.clock.now())
    const now = await follower.cluster()
    if (before && now)
      await ports.store.commit([putItem(place, { ...before.data, failedCall: refused })], now)
    follower.own.log.warn('the primary did not answer, or refused', { error: refused.text })
  }
}

/**
 * Returns the time at which the newest entry that has arrived here was written. Entries that the primary has
 * written since may still be in transit.
 */
const canaryOf = (
  { canaryAt, frontier }: Pick<HeartbeatAnswer, 'canaryAt' | 'frontier'>,
  { lastStaged }: StreamState,
): number => (lastStaged && lastStaged.seq < frontier ? lastStaged.at : canaryAt)

/** Stores the addresses that the primary reported last, because they may change. */
async function rememberAddresses(
  { store, clock }: FollowerPorts,
  follower: Follower,
  reported: readonly string[],
): Promise<void> {
  const cluster = await follower.cluster()
  const known = cluster?.record.link?.primaryAddrs ?? []
  if (reported.length === 0 || reported.every(one => known.includes(one))) return
  const readAt = clock.now()
  const [record] = await store.read([key('cluster')])
  const { link } = record?.data ?? {}
  if (!record || !link) return
  const addrs = [...new Set([...reported, ...link.primaryAddrs])].slice(0, MOST_ADDRESSES)
  await store.commit(
    [replaceItem(record, record, { ...record.data, link: { ...link, primaryAddrs: addrs } })],
    {
      record: record.data,
      readAt,
    },
  )
}

/**
 * Stores the addresses of the other clusters of the set, because a cluster that becomes primary calls all of these
 * addresses.
 * @param before the member item as just read; after a conflict the next heartbeat brings the addresses again
 */
async function rememberMembers(
  { store }: FollowerPorts,
  cluster: ClusterRead,
  before: Item<'member'> | undefined,
  reported: readonly string[],
): Promise<void> {
  const place = key('member', cluster.record.id)
  const next = addVouchersToMembership(before?.data, { addresses: reported })
  if (next.addresses.length === (before?.data.addresses.length ?? 0)) return
  await store.commit([replaceItem(place, before, next)], cluster)
}

const MOST_ADDRESSES = 8

/** Renews the lease, and stores the state for status in the lease. @returns undefined if another run has taken over */
async function renewLease(
  { ports, follower, holder }: Pulling,
  lease: Item<'puller'> | undefined,
  forMs = bounds.PULLER_LEASE_MS,
): Promise<{ item: Item<'puller'> | undefined } | undefined> {
  const cluster = await follower.cluster()
  if (!cluster) return undefined
  const place = key('puller')
  const data: PullerState = { runId: holder, until: ports.clock.now() + forMs, ...follower.session.reported }
  const written = await ports.store.commit([replaceItem(place, lease, data)], cluster)
  if (written === 'conflict') return undefined
  const [item] = await ports.store.read([place])
  return item?.data.runId === holder ? { item } : undefined
}

/** Milliseconds between two requests for entries: the minimum while entries arrive, the maximum after a long rest. */
const REST_PAUSE_MS = { least: 500, most: 10_000 }
/**
 * Milliseconds between two reads of the notice by a resting run: `soon`, or `later` if no entry has come for
 * `AFTER_MS`. Reading this cluster's own table costs far less than calling the primary.
 */
const LISTEN_MS = { soon: 250, later: 1500, AFTER_MS: 60_000 }
/** Milliseconds that a run waits if its primary does not answer. */
const SILENT_PRIMARY_PAUSE_MS = 2000

/** The last notice that a run has seen, and when something last arrived or was announced, epoch milliseconds. */
interface Attention {
  notice: Item<'notice'> | undefined
  since: number
}

/** Reads the stored notice at the beginning, and fetches the entries that the notice announces. */
const beginAttention = (notice: Item<'notice'> | undefined): Attention => ({
  notice,
  since: notice?.data.at ?? 0,
})

/** Reads the notice. @returns whether the notice is new to this run */
async function takeNotice({ store }: Pick<Ports, 'store'>, attention: Attention): Promise<boolean> {
  const [notice] = await store.read([key('notice')])
  if (!notice || notice.rev === attention.notice?.rev) return false
  attention.notice = notice
  attention.since = Math.max(attention.since, notice.data.at)
  return true
}

/**
 * Returns how long a run waits before it calls the primary again. The pause between two calls grows while no
 * entries arrive. The pause stays short during a role change, a comparison, and every state except streaming.
 */
export function nextPullPauseMs(
  { session }: Pick<Follower, 'session'>,
  { since }: Attention,
  now: number,
): number {
  const { source, streaming, reported, roleChangePending, comparison } = session
  if (!source) return SILENT_PRIMARY_PAUSE_MS
  if (reported.state !== 'stream-wals' || roleChangePending || comparison?.kind === 'comparing')
    return REST_PAUSE_MS.least
  const quiet = now - Math.max(streaming.lastChangeAt ?? 0, since)
  return Math.min(REST_PAUSE_MS.most, Math.max(REST_PAUSE_MS.least, quiet - bounds.EAGER_MS))
}

/** Returns the milliseconds between two reads of the notice. */
const noticePollMs = ({ lastChangeAt = 0 }: StreamState, { since }: Attention, now: number): number =>
  now - Math.max(lastChangeAt, since) < LISTEN_MS.AFTER_MS ? LISTEN_MS.soon : LISTEN_MS.later

/**
 * Waits until the next call of the primary is due: for a pause, or until a notice. @param end epoch milliseconds:
 * the latest end of the wait
 */
export async function restUntilNextCall(
  ports: Pick<Ports, 'store' | 'clock'>,
  follower: Pick<Follower, 'session'>,
  attention: Attention,
  end: number,
): Promise<void> {
  const { clock } = ports
  const pause = nextPullPauseMs(follower, attention, clock.now())
  if (pause <= SILENT_PRIMARY_PAUSE_MS / 2 || !follower.session.source) return clock.sleep(pause)
  const until = Math.min(end, clock.now() + pause)
  if (clock.now() >= until) return
  const everyMs = noticePollMs(follower.session.streaming, attention, clock.now())
  await clock.sleep(Math.min(everyMs, until - clock.now()))
  await pollWhilePending(clock, { everyMs, until }, async () =>
    (await takeNotice(ports, attention)) ? ok() : PENDING_RESULT,
  )
}

/** Restarts a link that has stopped. Given-up items are fetched once more, and afterwards must be as journal entries expect. */
async function restartLink(
  { own, cluster, treeId, linkName }: Pick<Follower, 'own' | 'cluster' | 'treeId' | 'linkName'>,
  recovery: Item<'recovery'>,
): Promise<void> {
  const [[found], read] = await Promise.all([own.store.read([key('diverging')]), cluster()])
  if (!read) return
  const places = toItemPlaces(divergingKeysOf(found, { treeId, link: linkName }))
  // a sync that is running or due has the same effect as a restart
  if (places.length > 0) await requestSync(own, read, places)
  const forgotten = found ? [removeItemIfUnchanged(found)] : []
  await own.store.commit([removeItemIfUnchanged(recovery), ...forgotten], read)
}
