import { partitions } from '../../storage/kinds.ts'
import { memberAddresses } from '../../values/member-address.ts'
import { type AdmittedCall, addressesOf, type LinkPorts } from './ports.ts'

/**
 * Returns the addresses of other clusters of the set: of those that follow or followed this one, and of those that it
 * has met or learnt from other clusters.
 * @param except UUID of a cluster whose own addresses are left out; absent: none are left out
 */
export async function readOtherAddresses(
  { store, deployment }: Pick<LinkPorts, 'store' | 'deployment'>,
  except?: string,
): Promise<string[]> {
  const [secondaries, members] = await Promise.all([
    store.list(partitions('secondary')),
    store.list(partitions('member')),
  ])
  const own = new Set(
    secondaries.filter(({ data }) => data.cluster === except).map(({ data }) => data.address),
  )
  const all = [
    ...secondaries.map(({ data }) => data.address),
    ...members.flatMap(({ data }) => data.addresses),
  ]
  const usable = memberAddresses(all, deployment)
  return [...new Set(usable)].filter(one => !(except !== undefined && own.has(one)))
}

/** Returns the known addresses of the clusters of the set, this cluster's own address first. */
export const readAddresses = async (
  call: Pick<AdmittedCall, 'record' | 'reachedAt'>,
  ports: Pick<LinkPorts, 'store' | 'deployment'>,
): Promise<string[]> => [...new Set([...addressesOf(call, ports), ...(await readOtherAddresses(ports))])]
