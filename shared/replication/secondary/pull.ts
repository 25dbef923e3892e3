import { NO_TERMS_NEEDED } from '../../journal/terms.ts'
import { addVouchers } from '../../link/membership.ts'
import type { HeartbeatAnswer } from '../../link/source.ts'
import type { Puller } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { put, removeIfUnchanged, replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { ok, PENDING } from '../../values/result.ts'
import { polling } from '../../values/retrying.ts'
import { requestSync } from '../sync/sync.ts'
import type { Connect } from './connect.ts'
import { divergingOf, placesOf } from './diverging.ts'
import { takeFollowStep } from './follow.ts'
import {
  type Follower,
  type FollowerPorts,
  fetchTerms,
  isReplaced,
  newFollower,
  type Progress,
  type Streaming,
  sendHeartbeat,
} from './follower.ts'
import { toUnansweredCall } from './silence.ts'

/** How often a waiting run looks whether the one before it has ended; the gap without a run is this long, once a minute. */
const STANDBY_MS = 500

/** When a run pulls. */
interface PullTimes {
  /** epoch milliseconds: until then */
  readonly deadline: number
  /**
   * While another run pulls this one waits for its end, instead of leaving at once. The run of every minute does: a run
   * that the primary woke halfway between two of them ends halfway between the next two, and heartbeats must not stop
   * until then.
   */
  readonly waitsForLease?: boolean
  /** what is done behind each heartbeat, answered or not: the primary is asked by one alone */
  readonly afterHeartbeat?: (() => Promise<void>) | undefined
}

/** Follows the primary until there is no time left. One run at a time does it; two do no harm. */
export async function pull(
  ports: FollowerPorts,
  connect: Connect,
  { deadline, waitsForLease = false, afterHeartbeat }: PullTimes,
): Promise<void> {
  const free = await awaitLease(ports, waitsForLease ? deadline - STANDBY_MS : 0)
  if (!free) return
  const [before, recovery, notice] = free
  let next = 0
  // a sync is interrupted between two pages for the heartbeat
  const hasTime = () => ports.clock.now() < Math.min(next, deadline)
  const reported = recovery ? undefined : before?.data
  const first = await newFollower(ports, connect, { hasTime, reported })
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
    if (progress !== 'worked') await restUntil(ports, follower, pulling.attention, Math.min(next, deadline))
  }
  await renewLease(pulling, lease, 0)
  // a notice that came while the lease was held has started no run
  if (await takeNotice(ports, pulling.attention)) await tryFollowStep(pulling.follower)
}

/** Waits until no other run holds the lease, and returns it; undefined if one still does at `end`. */
async function awaitLease({ store, clock }: FollowerPorts, end: number) {
  const free = await polling(clock, { everyMs: STANDBY_MS, until: end }, async () => {
    const found = await store.read([key('puller'), key('recovery'), key('notice')])
    const [lease] = found
    return !lease || lease.data.until <= clock.now() ? ok(found) : PENDING
  })
  return free.ok ? free.value : undefined
}

interface Pulling {
  readonly ports: FollowerPorts
  /** by the link as it was last read */
  follower: Follower
  readonly holder: string
  /** epoch milliseconds of the first answer of this run */
  since: number
  readonly attention: Attention
}

/** Continues by the link that the record names now. @returns whether this cluster is still a secondary */
async function relink(pulling: Pulling, connect: Connect): Promise<boolean> {
  const { hasTime } = pulling.follower
  const follower = await newFollower(pulling.ports, connect, { hasTime })
  if (!follower) return false
  pulling.follower = follower
  pulling.since = pulling.ports.clock.now()
  return true
}

/** Takes a step. If the link fails, the run sends a heartbeat before anything else. */
async function tryFollowStep(follower: Follower): Promise<Progress> {
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
  if (!follower.link || !cluster || (head && isReplaced(follower, head))) return
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
    await ports.store.commit([put(place, contact)], now)
    await rememberAddresses(ports, follower, answered.addresses)
    await rememberMembers(ports, now, known, [...answered.addresses, ...answered.memberAddresses])
    // a take-over needs the primary's term, even if nothing is encrypted by it yet
    await fetchTerms(follower, NO_TERMS_NEEDED)
  } catch (error) {
    delete follower.session.source
    const refused = toUnansweredCall(error, before?.data, ports.clock.now())
    const now = await follower.cluster()
    if (before && now) await ports.store.commit([put(place, { ...before.data, failedCall: refused })], now)
    follower.own.log.warn('the primary was asked in vain', { error: refused.text })
  }
}

/** Returns when the newest entry that has arrived here was written: entries that the primary wrote since may be under way. */
const canaryOf = (
  { canaryAt, frontier }: Pick<HeartbeatAnswer, 'canaryAt' | 'frontier'>,
  { lastStaged }: Streaming,
): number => (lastStaged && lastStaged.seq < frontier ? lastStaged.at : canaryAt)

/** Stores the addresses that the primary reported last in the cluster record, because they may change. */
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
  await store.commit([replace(record, record, { ...record.data, link: { ...link, primaryAddrs: addrs } })], {
    record: record.data,
    readAt,
  })
}

/**
 * Stores addresses of the other clusters of the set: a cluster that becomes primary calls all of them.
 * @param before the member item as it was just read; if it has changed since, the next heartbeat brings them again
 */
async function rememberMembers(
  { store }: FollowerPorts,
  cluster: ClusterRead,
  before: Item<'member'> | undefined,
  reported: readonly string[],
): Promise<void> {
  const place = key('member', cluster.record.id)
  const next = addVouchers(before?.data, { addresses: reported })
  if (next.addresses.length === (before?.data.addresses.length ?? 0)) return
  await store.commit([replace(place, before, next)], cluster)
}

const MOST_ADDRESSES = 8

/** Renews the lease, and reports in it for status. @returns undefined if another run has taken over */
async function renewLease(
  { ports, follower, holder }: Pulling,
  lease: Item<'puller'> | undefined,
  forMs = bounds.PULLER_LEASE_MS,
): Promise<{ item: Item<'puller'> | undefined } | undefined> {
  const cluster = await follower.cluster()
  if (!cluster) return undefined
  const place = key('puller')
  const data: Puller = { runId: holder, until: ports.clock.now() + forMs, ...follower.session.reported }
  const written = await ports.store.commit([replace(place, lease, data)], cluster)
  if (written === 'conflict') return undefined
  const [item] = await ports.store.read([place])
  return item?.data.runId === holder ? { item } : undefined
}

/** Milliseconds between two questions while something comes, and at most when nothing has come for long. */
const REST_PAUSE_MS = { least: 500, most: 10_000 }
/**
 * How often a run that rests looks for a notice in its own table, which costs far less than asking the primary: the second
 * one where nothing has come for `AFTER_MS`.
 */
const LISTEN_MS = { soon: 250, later: 1500, AFTER_MS: 60_000 }
/** How long a run waits whose primary does not answer. */
const SILENT_PRIMARY_PAUSE_MS = 2000

/** The last notice that a run has seen, and when there was something to look for last, epoch milliseconds. */
interface Attention {
  notice: Item<'notice'> | undefined
  since: number
}

/** Begins with the notice that stands there: the run looks for what it announced. */
const beginAttention = (notice: Item<'notice'> | undefined): Attention => ({
  notice,
  since: notice?.data.at ?? 0,
})

/** Reads the notice. @returns whether it is one that this run has not seen yet */
async function takeNotice({ store }: Pick<Ports, 'store'>, attention: Attention): Promise<boolean> {
  const [notice] = await store.read([key('notice')])
  if (!notice || notice.rev === attention.notice?.rev) return false
  attention.notice = notice
  attention.since = Math.max(attention.since, notice.data.at)
  return true
}

/**
 * Returns how long a run waits before it asks the primary again. The pause grows as long as nothing comes, but not during
 * a role change, a comparison, or anything else but streaming.
 */
export function nextPauseMs(
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
const noticePollMs = ({ lastChangeAt = 0 }: Streaming, { since }: Attention, now: number): number =>
  now - Math.max(lastChangeAt, since) < LISTEN_MS.AFTER_MS ? LISTEN_MS.soon : LISTEN_MS.later

/** Waits until the primary is to be asked again: for a pause, or until a notice. @param end epoch milliseconds: not longer */
export async function restUntil(
  ports: Pick<Ports, 'store' | 'clock'>,
  follower: Pick<Follower, 'session'>,
  attention: Attention,
  end: number,
): Promise<void> {
  const { clock } = ports
  const pause = nextPauseMs(follower, attention, clock.now())
  if (pause <= SILENT_PRIMARY_PAUSE_MS / 2 || !follower.session.source) return clock.sleep(pause)
  const until = Math.min(end, clock.now() + pause)
  if (clock.now() >= until) return
  const everyMs = noticePollMs(follower.session.streaming, attention, clock.now())
  await clock.sleep(Math.min(everyMs, until - clock.now()))
  await polling(clock, { everyMs, until }, async () =>
    (await takeNotice(ports, attention)) ? ok() : PENDING,
  )
}

/** Restarts a link that has stopped. Given-up items are fetched once more, and then must be as journal entries expect. */
async function restartLink(
  { own, cluster, treeId, linkName }: Pick<Follower, 'own' | 'cluster' | 'treeId' | 'linkName'>,
  recovery: Item<'recovery'>,
): Promise<void> {
  const [[found], read] = await Promise.all([own.store.read([key('diverging')]), cluster()])
  if (!read) return
  const places = placesOf(divergingOf(found, { treeId, link: linkName }))
  // a sync that is under way, or due, has the same effect
  if (places.length > 0) await requestSync(own, read, places)
  const forgotten = found ? [removeIfUnchanged(found)] : []
  await own.store.commit([removeIfUnchanged(recovery), ...forgotten], read)
}
