import { keepNewestElements } from './kept.ts'

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
export interface BusEventLog {
  records: (KeptBusEvent & { seq: number })[]
  nextSeq: number
  /** number of the next events of EC2 that EventBridge loses */
  toLose: number
}

const KEPT = 1000

/** Creates an empty log. */
export const createBusEventLog = (): BusEventLog => ({ records: [], nextSeq: 1, toLose: 0 })

/** Adds an event to a bus, and numbers it. */
export function sendBusEvent(
  aws: { arranged: { busEvents: BusEventLog }; onBusEvent?: (event: KeptBusEvent) => void },
  event: KeptBusEvent,
): void {
  const log = aws.arranged.busEvents
  keepNewestElements(log.records, KEPT, [{ seq: log.nextSeq++, ...event }])
  aws.onBusEvent?.(event)
}

/** Returns the events numbered above `since`. */
export const listBusEventsSince = (log: BusEventLog, since: number): BusEventLog['records'] =>
  log.records.filter(event => event.seq > since)
