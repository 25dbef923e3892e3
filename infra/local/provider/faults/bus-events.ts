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

/** How many events are kept at least; a host that runs for days must not fill the memory. */
const KEPT = 1000

/** Adds an event to those that are kept. */
export function keepBusEvent(events: KeptBusEvent[], event: KeptBusEvent): void {
  events.push(event)
  if (events.length >= 2 * KEPT) events.splice(0, events.length - KEPT)
}
