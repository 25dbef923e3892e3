import { decryptOwnKey } from '../../link/admin/keys.ts'
import { apiAddressOf, linkAddress, primaryOf } from '../../model/cluster.ts'
import type { Puller } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import type { Connect } from './connect.ts'
import type { Follower } from './follower.ts'
import { holdTerm, takeSealed } from './hold-term.ts'

export type FollowerPorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'genesis' | 'clock' | 'entropy' | 'log' | 'audit' | 'deployment'
>

/**
 * A follower of the primary that the cluster record names; undefined when this cluster is no secondary.
 * @param hasTime whether there is time for another page of a sync
 * @param told what the run before told
 * @param until epoch milliseconds: the primary is not waited for any longer; absent: as long as each call may take
 */
export async function newFollower(
  ports: FollowerPorts,
  connect: Connect,
  { hasTime, told, until }: { hasTime: () => boolean; told?: Puller | undefined; until?: number },
): Promise<Follower | undefined> {
  const cluster = secondaryRecord(ports)
  const first = await cluster()
  const { treeId } = first?.record ?? {}
  if (!first || treeId === undefined) return undefined
  const link = await linkOf(first, ports, peer => connect({ ...peer, until }))
  const { journal, store, clock, entropy, log, audit } = ports
  return {
    own: { journal, store, clock, entropy, log, audit },
    cluster,
    link,
    linkName: first.record.link?.name ?? '',
    treeId,
    hasTime,
    hold: async needs => {
      const now = await cluster()
      return now && link ? holdTerm(ports, link, now, needs) : { number: 0, ids: [] }
    },
    take: async sealed => {
      const now = await cluster()
      if (now) await takeSealed(ports, now, sealed)
    },
    address: linkAddress(first.record, ports.deployment),
    apiAddress: apiAddressOf(first.record, ports.deployment),
    from: 0,
    filled: false,
    // until it is known better: the primary is told with the first heartbeat
    told: { state: told?.state ?? 'idle', synced: told?.synced ?? 0 },
  }
}

/** The cluster record while this cluster is a secondary, read again before it is too old to commit with. */
function secondaryRecord({ store, clock, cipher }: FollowerPorts) {
  let read: ClusterRead | undefined
  return async (): Promise<ClusterRead | undefined> => {
    if (read && clock.now() - read.readAt <= bounds.RECORD_REREAD_MS) return read
    const readAt = clock.now()
    const [item] = await store.read([key('cluster')])
    if (item) cipher.expect(item.data)
    read = item?.data.mode === 'secondary' ? { record: item.data, readAt } : undefined
    return read
  }
}

async function linkOf({ record }: ClusterRead, { cipher }: FollowerPorts, connect: Connect) {
  const { set } = record
  const link = primaryOf(record)
  if (!link || !set) return undefined
  const pair = await decryptOwnKey(link.ownKey, cipher)
  const { id, primaryKey: otherKey, primaryAddr, addrs, ca } = link
  return connect({ set, id, pair, otherKey, addresses: [...new Set([...addrs, primaryAddr])], ca })
}
