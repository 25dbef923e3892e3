import type { KeptBusEvent } from './bus-events.ts'
import { createProviderCallLog, type ProviderCallLog } from './calls.ts'
import { createOpenConnections, type OpenConnections } from './connections.ts'
import type { HeldCalls, ProviderFault } from './faults.ts'
import type { CallRateLimit } from './limits.ts'
import type { LogGroups } from './log-groups.ts'

/** What tests arrange and observe; never written to the state file. */
export interface ArrangedFaults {
  /** In the order they were arranged. */
  faults: ProviderFault[]
  held: HeldCalls
  limits: CallRateLimit[]
  calls: ProviderCallLog
  connections: OpenConnections
  logGroups: LogGroups
  busEvents: KeptBusEvent[]
  /** Age below which a new access key is not known yet. */
  keyDelayMs: number
  clockShiftMs: number
}

/** Creates an empty state. */
export const createArrangedFaults = (): ArrangedFaults => ({
  faults: [],
  held: new Map(),
  limits: [],
  calls: createProviderCallLog(),
  connections: createOpenConnections(),
  logGroups: new Map(),
  busEvents: [],
  keyDelayMs: 0,
  clockShiftMs: 0,
})
