import type { BusEventLog } from './bus-events.ts'
import { createOpenConnections, type OpenConnections } from './connections.ts'
import type { HeldCalls, ProviderFault } from './faults.ts'
import { createNumberedLog, type NumberedLog } from './kept.ts'
import type { CallRateLimit } from './limits.ts'
import type { LogGroups } from './log-groups.ts'

/** One request that the provider answered. */
interface ProviderCallRecord {
  /** RFC 3339, the provider's clock. */
  at: string
  service: string
  action: string
  /** Account of the access key that the request named; null when the request named no existing key. */
  account: string | null
  region: string | null
  /** ARN of the caller; null unless the signature was valid. */
  principalArn: string | null
  /** Status of the answer; 0 when the connection was closed without an answer. */
  status: number
  /** Headers with lower-case names; repeated headers are joined with a comma. */
  headers: Record<string, string>
  /** Query string as sent, still encoded. */
  query: string
  body: string
}

/**
 * The faults and limits that tests arrange, and the calls that tests observe. Nothing of this state is
 * written to the state file.
 */
export interface ArrangedFaults {
  /** In the order in which tests arranged them. */
  faults: ProviderFault[]
  held: HeldCalls
  limits: CallRateLimit[]
  calls: NumberedLog<ProviderCallRecord>
  connections: OpenConnections
  logGroups: LogGroups
  busEvents: BusEventLog
  /** Milliseconds. A new access key of a lower age is not known yet. */
  keyDelayMs: number
  clockShiftMs: number
}

/** Creates a state without faults, limits and calls. */
export const createArrangedFaults = (): ArrangedFaults => ({
  faults: [],
  held: new Map(),
  limits: [],
  calls: createNumberedLog(),
  connections: createOpenConnections(),
  logGroups: new Map(),
  busEvents: { ...createNumberedLog(), toLose: 0 },
  keyDelayMs: 0,
  clockShiftMs: 0,
})
