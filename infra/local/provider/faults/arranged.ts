import { type BusEventLog, createBusEventLog } from './bus-events.ts'
import { createProviderCallLog, type ProviderCallLog } from './calls.ts'
import { createOpenConnections, type OpenConnections } from './connections.ts'
import type { HeldCalls, ProviderFault } from './faults.ts'
import type { CallRateLimit } from './limits.ts'
import type { LogGroups } from './log-groups.ts'

/**
 * The faults and limits that tests arrange, and the calls that tests observe. Nothing of this state is
 * written to the state file.
 */
export interface ArrangedFaults {
  /** In the order in which tests arranged them. */
  faults: ProviderFault[]
  held: HeldCalls
  limits: CallRateLimit[]
  calls: ProviderCallLog
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
  calls: createProviderCallLog(),
  connections: createOpenConnections(),
  logGroups: new Map(),
  busEvents: createBusEventLog(),
  keyDelayMs: 0,
  clockShiftMs: 0,
})
