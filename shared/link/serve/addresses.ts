import { itemPartitions } from '../../storage/kinds.ts'
import { normaliseMemberAddresses } from '../../values/member-address.ts'
import { type AdmittedLinkCall, type LinkServerPorts, ownAddressesOf } from './ports.ts'

/**
 * Returns the addresses of other clusters of the set: the clusters that follow or followed this cluster, and the
 * clusters that it has met or learnt from other clusters.
 * @param except UUID of a cluster whose own addresses are left out; absent: no address is left out
 */
export async function readOtherMemberAddresses(
  { store, deployment }: Pick<LinkServerPorts, 'store' | 'deployment'>,
  except?: string,
): Promise<string[]> {
  const [secondaries, members] = await Promise.all([
    store.list(itemPartitions('secondary')),
    store.list(itemPartitions('member')),
  ])
  const own = new Set(
    secondaries.filter(({ data }) => data.cluster === except).map(({ data }) => data.address),
  )
  const all = [
    ...secondaries.map(({ data }) => data.address),
    ...members.flatMap(({ data }) => data.addresses),
  ]
  const usable = normaliseMemberAddresses(all, deployment)
  return [...new Set(usable)].filter(one => !(except !== undefined && own.has(one)))
}

/** Returns the known addresses of the clusters of the set, this cluster's own address first. */
export const readMemberAddresses = async (
  call: Pick<AdmittedLinkCall, 'record' | 'reachedAt'>,
  ports: Pick<LinkServerPorts, 'store' | 'deployment'>,
): Promise<string[]> => [
  ...new Set([...ownAddressesOf(call, ports), ...(await readOtherMemberAddresses(ports))]),
]
