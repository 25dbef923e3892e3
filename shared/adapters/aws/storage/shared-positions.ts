import type { Journal } from '../../../journal/journal.ts'
import type { Epoch } from '../../../journal/position.ts'
import type { Engine } from './engine.ts'
import { type GivenPosition, type PositionEngine, position, positions } from './journal-head.ts'
import type { Together, Turns } from './together.ts'

/**
 * Takes positions for an environment that does several things at once: commits that wait for one at the same time take theirs by
 * one update of the head, which is one item, and an item takes a thousand writes a second. A position that its commit
 * does not learn of is a hole like any other, and is closed like those.
 * @param together has questions wait together: given, for its code belongs to what is loaded first, and this to what is loaded
 * later
 */
export function sharedPositions(engine: Engine, together: Together, turns: Turns = {}): Journal['allocate'] {
  // calls are counted where they were asked for, one for each that would have been made alone
  const { tables, log, pause, send, meter } = engine
  const uncounted: PositionEngine = { tables, log, pause, send, meter: { ...meter, count: () => undefined } }
  const ask = together<Epoch, GivenPosition>({
    send: wanted => positions(uncounted, wanted[0] ?? '', wanted.length),
    pick: waiting => waiting.filter(one => one.ask === waiting[0]?.ask),
    now: engine.clock.now,
    ...turns,
  })
  return async epoch => {
    engine.meter.count('dynamodb')
    const given = await ask(epoch)
    return given === 'alone' ? position(engine, epoch) : given
  }
}
