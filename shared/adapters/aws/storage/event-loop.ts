import { later } from '../later.ts'
import type { Turns } from './together.ts'

/** Turns of the event loop, and its timers. */
export const eventLoop: Pick<Turns, 'soon' | 'later'> = {
  soon: setImmediate,
  later,
}
