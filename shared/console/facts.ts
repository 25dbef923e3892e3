import type { ClusterState } from '../set/condition.ts'
import type { ClusterStatus } from '../set/status.ts'
import { partitionOfRegion } from '../values/region.ts'
import { formatCount, formatLag } from '../values/words.ts'
import type { ReplicationLags } from './lag.ts'

const timeOf = (text: string | undefined): number | undefined => {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : time
}
const firstFault = ({ faults }: ClusterStatus): number | undefined => {
  const times = faults.flatMap(({ ongoing, since }) => (ongoing ? [timeOf(since) ?? []] : [])).flat()
  return times.length === 0 ? undefined : Math.min(...times)
}

/** When a state began according to the cluster's answer, by state. */
const beginnings: Partial<Record<ClusterState, (status: ClusterStatus) => number | undefined>> = {
  changing: ({ operation }) => timeOf(operation?.since),
  failing: firstFault,
  'cut-off': ({ primary }) => primary?.lastHeartbeatAt,
  streaming: ({ connectedAt }) => connectedAt,
  behind: ({ connectedAt }) => connectedAt,
}

/** Returns when the state began, in epoch milliseconds; undefined: the answer does not say. */
export const stateBegan = (state: ClusterState, status: ClusterStatus | undefined): number | undefined =>
  status && beginnings[state]?.(status)

/** Returns the region that the host of an address names; empty: none. */
export const regionOfAddress = (address: string): string =>
  (URL.canParse(address) ? new URL(address).hostname : '').split('.').find(partitionOfRegion) ?? ''

/** Describes the lag of a secondary in a few words; empty for other clusters. */
export function describeLagBriefly(
  { mode, hasPrimary }: ClusterStatus,
  { stored, positions }: ReplicationLags,
): string {
  if (mode !== 'secondary' || !hasPrimary) return ''
  if (stored === undefined) return 'unknown'
  const age = `newest entry ${formatLag(stored)} old`
  return positions === undefined ? age : `${age}, lacks ${formatCount(positions, 'position')}`
}
