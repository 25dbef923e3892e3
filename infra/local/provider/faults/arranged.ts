import type { KeptBusEvent } from './bus-events.ts'
import { type CallLog, newCallLog } from './calls.ts'
import { type Connections, newConnections } from './connections.ts'
import type { Fault, HeldCalls } from './faults.ts'
import type { Limit } from './limits.ts'
import type { LogGroups } from './log-groups.ts'

/** What tests arrange and observe; never written to the state file. */
export interface Arranged {
  /** In the order they were arranged. */
  faults: Fault[]
  held: HeldCalls
  limits: Limit[]
  calls: CallLog
  connections: Connections
  logGroups: LogGroups
  busEvents: KeptBusEvent[]
  /** Age below which a new access key is not known yet. */
  keyDelayMs: number
  clockShiftMs: number
}

/** Creates an empty state. */
export const nothingArranged = (): Arranged => ({
  faults: [],
  held: new Map(),
  limits: [],
  calls: newCallLog(),
  connections: newConnections(),
  logGroups: new Map(),
  busEvents: [],
  keyDelayMs: 0,
  clockShiftMs: 0,
})
