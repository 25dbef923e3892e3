import { alarming } from '../../api/alarming.ts'
import { secondariesOf } from '../../link/admin/secondaries.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { Heartbeat, PrimaryContact, Secondary } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { key, partitions } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { ageSince } from '../../values/time.ts'
import type { Measures } from '../../watching/metrics.ts'

/** What one cluster knows of those that it is connected with. */
export interface PeerFacts {
  record: Pick<ClusterRecord, 'mode' | 'link'>
  /** of a primary: its secondaries */
  secondaries: readonly Pick<Secondary, 'id' | 'heartbeat'>[]
  /** of a secondary: what it last heard */
  contact?: Pick<PrimaryContact, 'at' | 'frontier' | 'failedCall'> | undefined
  /** of a secondary: up to where it has everything, where it follows; absent: it fetches everything anew, or nothing */
  applied?: number | undefined
  /** of this cluster's own journal: the last position given away or received, and up to where nothing is missing */
  journal?: { last: number; applied: number } | undefined
  /** of a secondary: something keeps it from applying what it has */
  fault?: string | undefined
  /** epoch milliseconds */
  now: number
}

/**
 * Which clusters of the set are silent or behind. One that has never connected is not missed, and a secondary that
 * fetches everything is not late.
 * @returns a text for each, with its name or address
 */
export function findPeerFaults({ record, secondaries, contact, applied, fault, now }: PeerFacts): string[] {
  if (record.mode === 'primary')
    return secondaries.flatMap(({ id, heartbeat }) =>
      heartbeat && isSilent(heartbeat, now)
        ? [`the secondary ${id} has not been heard of for ${secondsSince(heartbeat.at, now)} s`]
        : [],
    )
  if (record.mode !== 'secondary' || !record.link || !contact) return []
  if (contact.failedCall) return [`the primary refuses this secondary: ${contact.failedCall.text}`]
  if (isSilent(contact, now))
    return [`the primary has not been heard of for ${secondsSince(contact.at, now)} s`]
  if (fault !== undefined) return [`this secondary cannot apply what the primary has: ${fault}`]
  const isBehind =
    applied !== undefined && applied < contact.frontier && now - contact.at >= bounds.LARGEST_LAG_MS
  return isBehind
    ? [
        `this secondary is ${contact.frontier - applied} commits behind what the primary had ${secondsSince(contact.at, now)} s ago`,
      ]
    : []
}

/** What is measured of them: of a primary's secondaries, the one that is worst. Nothing before one was heard. */
export function measurePeers({
  record,
  secondaries,
  contact,
  journal,
  now,
}: Omit<PeerFacts, 'applied' | 'fault'>): Measures | undefined {
  const isPrimary = record.mode === 'primary'
  const heard = isPrimary
    ? secondaries.flatMap(one => one.heartbeat ?? [])
    : record.link && contact
      ? [contact]
      : []
  if (!journal || heard.length === 0) return undefined
  const behind = isPrimary
    ? secondaries.flatMap(one => (one.heartbeat ? [journal.last - one.heartbeat.seq] : []))
    : [(contact?.frontier ?? 0) - journal.applied]
  return {
    HeartbeatAge: secondsSince(Math.min(...heard.map(({ at }) => at)), now),
    Lag: Math.max(0, ...behind),
    Frontier: journal.applied,
  }
}

const isSilent = ({ at }: Pick<Heartbeat, 'at'>, now: number): boolean => now - at >= bounds.PRIMARY_LOST_MS
const secondsSince = (at: number, now: number): number => Math.floor(ageSince(at, now) / 1000)

/**
 * Measures how far clusters of the set are, and writes a line for operators while one is silent or behind; an alarm counts
 * those.
 */
export async function watchPeers({
  store,
  journal,
  clock,
  log,
}: Pick<Ports, 'store' | 'journal' | 'clock' | 'log'>): Promise<void> {
  const [cluster, contact, puller] = await store.read([key('cluster'), key('contact'), key('puller')])
  const record = cluster?.data
  if (record?.mode !== 'primary' && record?.mode !== 'secondary') return
  const isPrimary = record.mode === 'primary'
  const head = await journal.head()
  const facts = {
    record,
    secondaries: isPrimary ? secondariesOf(await store.list(partitions('secondary')), record) : [],
    contact: contact?.data,
    applied: head?.mode === 'applying' ? head.applied : undefined,
    journal: head,
    fault: puller?.data.fault,
    now: clock.now(),
  }
  const measures = measurePeers(facts)
  // told without them, too: by this line a shared name leads to the cluster that strangers cannot ask
  log.info('replication', { mode: record.mode }, measures)
  const amiss = findPeerFaults(facts)
  if (amiss.length > 0) log.warn(alarming.peer, { amiss })
}
