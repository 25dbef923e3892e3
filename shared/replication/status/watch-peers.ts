import { alarmingTexts } from '../../api/alarming.ts'
import { listSecondaries } from '../../link/admin/secondaries.ts'
import type { ClusterRecord } from '../../model/cluster.ts'
import type { PrimaryContact, Secondary, StoredHeartbeat } from '../../model/link.ts'
import type { Ports } from '../../ports.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { ageSince } from '../../values/time.ts'
import type { MetricMeasures } from '../../watching/metrics.ts'

/** The facts that a cluster has about the clusters it is connected with. */
export interface PeerFacts {
  record: Pick<ClusterRecord, 'mode' | 'link'>
  /** `secondaries` of a primary */
  secondaries: readonly Pick<Secondary, 'id' | 'heartbeat'>[]
  /** `contact` of a secondary: the last heartbeat to its primary */
  contact?: Pick<PrimaryContact, 'at' | 'frontier' | 'failedCall'> | undefined
  /** `applied` position of a secondary while it streams; absent: a sync runs, or the cluster follows no primary */
  applied?: number | undefined
  /**
   * `journal` of this cluster: the highest allocated or received position, and the position up to which no entry is
   * missing
   */
  journal?: { last: number; applied: number } | undefined
  /** `fault` of a secondary: why it cannot apply received entries */
  fault?: string | undefined
  /** epoch milliseconds */
  now: number
}

/**
 * Finds the clusters of the set that are silent or behind. Ignores a cluster that has never connected, and a secondary
 * during a sync.
 * @returns a text for each silent or lagging cluster, with its name or address
 */
export function findPeerFaults({ record, secondaries, contact, applied, fault, now }: PeerFacts): string[] {
  if (record.mode === 'primary')
    return secondaries.flatMap(({ id, heartbeat }) =>
      heartbeat && isSilent(heartbeat, now)
        ? [`the secondary ${id} has sent no heartbeat for ${secondsSince(heartbeat.at, now)} s`]
        : [],
    )
  if (record.mode !== 'secondary' || !record.link || !contact) return []
  if (contact.failedCall) return [`the primary refuses this secondary: ${contact.failedCall.text}`]
  if (isSilent(contact, now)) return [`the primary has not answered for ${secondsSince(contact.at, now)} s`]
  if (fault !== undefined) return [`this secondary cannot apply the primary’s journal entries: ${fault}`]
  const isBehind =
    applied !== undefined && applied < contact.frontier && now - contact.at >= bounds.LARGEST_LAG_MS
  return isBehind
    ? [
        `this secondary is ${contact.frontier - applied} commits behind what the primary had ${secondsSince(contact.at, now)} s ago`,
      ]
    : []
}

/**
 * Returns the metrics about the other clusters. On a primary the metrics describe the worst secondary. Returns
 * undefined before the first heartbeat of any other cluster.
 */
export function measurePeers({
  record,
  secondaries,
  contact,
  journal,
  now,
}: Omit<PeerFacts, 'applied' | 'fault'>): MetricMeasures | undefined {
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

const isSilent = ({ at }: Pick<StoredHeartbeat, 'at'>, now: number): boolean =>
  now - at >= bounds.PRIMARY_LOST_MS
const secondsSince = (at: number, now: number): number => Math.floor(ageSince(at, now) / 1000)

/**
 * Logs the metrics of the other clusters every minute, and a warning while one is silent or behind. An alarm counts
 * the warnings about silent clusters.
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
    secondaries: isPrimary ? listSecondaries(await store.list(itemPartitions('secondary')), record) : [],
    contact: contact?.data,
    applied: head?.mode === 'applying' ? head.applied : undefined,
    journal: head,
    fault: puller?.data.fault,
    now: clock.now(),
  }
  const measures = measurePeers(facts)
  // the line is logged even without metrics, because it shows which of the clusters with a shared name is behind
  log.info('replication', { mode: record.mode }, measures)
  const amiss = findPeerFaults(facts)
  if (amiss.length > 0) log.warn(alarmingTexts.peer, { amiss })
}
