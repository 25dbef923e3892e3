import type { ClusterState } from '../set/condition.ts'
import type { ClusterStatus, ObservedCluster } from '../set/status.ts'
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

/** A time on a card, in epoch milliseconds, with its label. */
export interface LabelledTime {
  label: string
  since: number
}

/**
 * Returns since when a cluster has been in its state, else in its role; undefined: the cluster has not reported
 * either.
 */
export function describeBeginning(
  state: ClusterState,
  { answer, silent }: Pick<ObservedCluster, 'answer' | 'silent'>,
): LabelledTime | undefined {
  if (!answer) return undefined
  const { status } = answer
  const began = beginnings[state]?.(status)
  if (began !== undefined) return { label: 'since', since: began }
  // a silent cluster may have changed its role meanwhile
  return status.roleSince === undefined || silent
    ? undefined
    : { label: `${status.mode} since`, since: status.roleSince }
}

/** Returns the cluster's region, from its status or else from an address of the cluster; empty: unknown. */
export const regionOfCluster = (status: ClusterStatus | undefined, addresses: readonly string[]): string =>
  [status?.region ?? '', ...addresses.flatMap(labelsOfAddress)].find(partitionOfRegion) ?? ''

const labelsOfAddress = (address: string): readonly string[] =>
  URL.canParse(address) ? new URL(address).hostname.split('.') : []

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
