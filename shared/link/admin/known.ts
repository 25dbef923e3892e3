import { type ClusterRecord, deployedLinkAddress } from '../../model/cluster.ts'
import type { Ports } from '../../ports.ts'
import { type Item, itemPartitions } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import { normaliseMemberAddresses } from '../../values/member-address.ts'
import { parseLinkPublicKeys } from '../pair.ts'
import type { SetMemberKey } from '../trust.ts'
import { listSecondaries } from './secondaries.ts'

/** The clusters of its set that this cluster knows. */
export interface KnownSetMembers {
  self: Item<'member'> | undefined
  /** address of this cluster; empty: unknown */
  selfAddress: string
  /** addresses at which another primary may be */
  addresses: string[]
  keys: SetMemberKey[]
}

/**
 * Reads the clusters of the set that this cluster knows.
 * @param whom `due`: without followers that have sent a recent heartbeat
 */
export async function readKnownSetMembers(
  record: ClusterRecord,
  { store, clock, deployment }: Pick<Ports, 'store' | 'clock' | 'deployment'>,
  whom: 'due' | 'all',
): Promise<KnownSetMembers> {
  const [members, secondaries] = await Promise.all([
    store.list(itemPartitions('member')),
    store.list(itemPartitions('secondary')),
  ])
  const follows = listSecondaries(secondaries, record)
    .filter(
      ({ heartbeat }) =>
        whom === 'due' && heartbeat !== undefined && clock.now() - heartbeat.at < bounds.PRIMARY_LOST_MS,
    )
    .map(({ address }) => address)
  const own = deployedLinkAddress(deployment)
  const not = ['', record.clusterAddr, record.observedAddr, own, ...follows]
  const all = [
    ...members.flatMap(({ data }) => data.addresses),
    ...secondaries.map(({ data }) => data.address),
  ]
  const self = members.find(({ sk }) => sk === record.id)
  const admitted = secondaries.flatMap(({ data: { cluster = '', publicKey = '' } }) => {
    const keys = parseLinkPublicKeys(publicKey)
    return keys ? [{ id: cluster, key: keys.signing.toString('base64') }] : []
  })
  return {
    self,
    addresses: [...new Set(normaliseMemberAddresses(all, deployment))].filter(one => !not.includes(one)),
    selfAddress: record.clusterAddr || own,
    keys: [
      ...(self?.data.issuer ? [self.data.issuer] : []),
      ...members.flatMap(({ sk, data: { key: its } }) => (its === undefined ? [] : [{ id: sk, key: its }])),
      ...admitted,
    ],
  }
}
