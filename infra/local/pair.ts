import { askReplication, drStatusOf, until } from './dr-client.ts'
import { type Host, type HostOptions, startHost } from './host.ts'
import { remoteControl } from './provider/control.ts'

/** Two clusters of one DR set on this machine. */
export interface ClusterPair {
  /** the primary */
  east: Host
  /** its secondary */
  west: Host
  close(): Promise<void>
}

/** Where a cluster of the pair stands, as its status says. */
export interface Stand {
  mode: string
  state: string
  position: number
  root: string
  /** milliseconds; undefined: nothing has been heard of the other */
  lag: number | undefined
}

const REGIONS = { east: 'us-east-1', west: 'us-west-2' }

/** Seconds for which nobody may write before the secondary's own data are deleted. */
const WIPE_WAIT = 30

export type PairOptions = Omit<HostOptions, 'cluster' | 'region' | 'provider'>

/** Starts both clusters, beside one imitated AWS; what they were before, they are again. */
export async function startPair(options: PairOptions): Promise<ClusterPair> {
  const { port } = options
  const drill = drillsBetween(port)
  const east = await startHost({ ...options, ...drill.east, cluster: 'east', region: REGIONS.east })
  try {
    const provider = { url: east.provider_url, control: remoteControl(east.provider_url) }
    const west = await startHost({
      ...options,
      ...drill.west,
      cluster: 'west',
      region: REGIONS.west,
      port: port === 0 ? 0 : port + 1,
      provider,
    })
    const close = async () => {
      await west.close()
      await east.close()
    }
    return { east, west, close }
  } catch (error) {
    await east.close()
    throw error
  }
}

/** By which addresses drills switch; without where ports are not known before. */
function drillsBetween(port: number): Record<'east' | 'west', Pick<HostOptions, 'drill'>> {
  if (port === 0) return { east: {}, west: {} }
  const [east, west] = [port, port + 1].map(one => `http://127.0.0.1:${one}`) as [string, string]
  const policy = 'drill'
  return {
    east: { drill: { own: east, peer: west, policy } },
    west: { drill: { own: west, peer: east, policy } },
  }
}

/**
 * Makes `west` the secondary of `east`, unless it is.
 * @param say told what takes long, and why
 * @param at how west reaches east: `address`, `ca_file`
 */
export async function join(
  { east, west }: ClusterPair,
  say: (text: string) => void,
  { address = east.link_address, ...trusted }: { address?: string; ca_file?: string } = {},
): Promise<void> {
  if ((await drStatusOf(west))['mode'] === 'secondary') return
  if ((await drStatusOf(east))['mode'] !== 'primary')
    await askReplication(east, 'primary/enable', { primary_cluster_addr: address })
  await until('the journal of east is not built', async () => {
    const { state, reindex_in_progress: building } = await drStatusOf(east)
    return state === 'running' && building !== true
  })
  say(
    `Making west a secondary takes ${WIPE_WAIT} s: whoever still writes there by what it read before has to have ended before its data are deleted.`,
  )
  // of an earlier attempt that was broken off
  await askReplication(east, 'primary/revoke-secondary', { id: 'west' })
  const { wrap_info: wrapped } = await askReplication(east, 'primary/secondary-token', { id: 'west' })
  await askReplication(west, 'secondary/enable', { token: wrapped?.token, ...trusted })
  await until('west does not follow east', async () => (await drStatusOf(west))['state'] === 'stream-wals')
  west.forgetKeys()
}

/** Waits until both stand at one position with one root. @throws Error when they do not come to that */
export async function settled({
  east,
  west,
}: Pick<ClusterPair, 'east' | 'west'>): Promise<{ east: Stand; west: Stand }> {
  let stands: { east: Stand; west: Stand } | undefined
  await until('east and west do not come to one position and one root', async () => {
    const [e, w] = await Promise.all([standOf(east), standOf(west)])
    stands = { east: e, west: w }
    return e.root !== '' && e.root === w.root && e.position === w.position
  })
  if (!stands) throw new Error('neither cluster answered')
  return stands
}

async function standOf(host: Host): Promise<Stand> {
  const status = await drStatusOf(host)
  const peers = (status['secondaries'] ?? status['primaries'] ?? []) as readonly Record<string, string>[]
  const age = peers[0]?.['replication_primary_canary_age_ms']
  return {
    mode: String(status['mode']),
    state: String(status['state']),
    position: Number(status['last_dr_wal'] ?? status['last_remote_wal']),
    root: String(status['merkle_root'] ?? ''),
    lag: age === undefined ? undefined : Number(age),
  }
}
