import type { Journal } from '../../../../journal/journal.ts'
import type { Epoch } from '../../../../journal/position.ts'
import type { StorageEngine } from '../engine.ts'
import { type AllocatedPosition, allocatePosition, allocatePositions, type PositionEngine } from '../head.ts'
import type { CreateCallBatcher, EventLoopTimers } from './batch-calls.ts'

/**
 * Allocates the positions of commits that wait at the same time with one update of the head, because the head is
 * one item and DynamoDB takes about a thousand writes a second to one item. If a commit does not learn its
 * position, the position is a hole, and is closed like any other hole.
 * @param batchCalls a parameter, because every function loads its own code first, and loads this file only with the
 * journal
 */
export function createPositionBatcher(
  engine: StorageEngine,
  batchCalls: CreateCallBatcher,
  turns: EventLoopTimers = {},
): Journal['allocate'] {
  // Calls are counted for each caller, as if each had made its own call.
  const { tables, log, pause, send, meter } = engine
  const uncounted: PositionEngine = { tables, log, pause, send, meter: { ...meter, count: () => undefined } }
  const ask = batchCalls<Epoch, AllocatedPosition>({
    send: wanted => allocatePositions(uncounted, wanted[0] ?? '', wanted.length),
    pick: waiting => waiting.filter(one => one.ask === waiting[0]?.ask),
    now: engine.clock.now,
    ...turns,
  })
  return async epoch => {
    engine.meter.count('dynamodb')
    const given = await ask(epoch)
    return given === 'alone' ? allocatePosition(engine, epoch) : given
  }
}
