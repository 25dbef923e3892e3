import { keepNewestElements } from './kept.ts'

/** An event on the default bus of an account in a region. */
export interface KeptBusEvent {
  account: string
  region: string
  source: string
  detailType: string
  /** RFC 3339 */
  time: string
  detail: unknown
}

/** Adds an event to the stored events, and keeps the newest 1000. */
export const keepBusEvent = (events: KeptBusEvent[], event: KeptBusEvent): void =>
  keepNewestElements(events, 1000, [event])
