import { type NumberedLog, recordNumbered } from './kept.ts'

/** An event on the default bus of an account in a region. */
export interface KeptBusEvent {
  account: string
  region: string
  source: string
  detailType: string
  /** RFC 3339 */
  time: string
  /** ARNs of the resources that the event is about; absent: none */
  resources?: string[]
  detail: unknown
}

/** The most recent events of all buses. */
export interface BusEventLog extends NumberedLog<KeptBusEvent> {
  /** number of the next events of EC2 that EventBridge loses */
  toLose: number
}

const KEPT = 1000

/** Adds an event to a bus, and numbers it. */
export function sendBusEvent(
  aws: { arranged: { busEvents: BusEventLog }; onBusEvent?: (event: KeptBusEvent) => void },
  event: KeptBusEvent,
): void {
  recordNumbered(aws.arranged.busEvents, KEPT, event)
  aws.onBusEvent?.(event)
}
