import type { Head } from '../../../journal/head.ts'
import type { Journal } from '../../../journal/journal.ts'
import type { Epoch } from '../../../journal/position.ts'
import { type HeadMove, moves } from '../../../journal/transitions.ts'
import { insisted } from './attempts.ts'
import { type Engine, nameOf } from './engine.ts'
import { headFrom, headKey, headUpdate, isAllowed, tellBroken } from './head.ts'

/**
 * The head of the journal in its table. One that is not what its rules say, or would not be, is reported to the log.
 * @param allocate takes positions, maybe together with what others take
 */
export const dynamoHead = (
  engine: Engine,
  allocate: Journal['allocate'] = epoch => position(engine, epoch),
): Pick<Journal, 'head' | 'moveHead' | 'allocate'> => ({
  head: async () => {
    const at = { table: engine.tables.cluster, ...headKey }
    const found = (await engine.get([at])).get(nameOf(at))
    const head = found && headFrom(found)
    if (head) tellBroken(engine, head, '')
    return head
  },
  moveHead: move => moved(engine, move),
  allocate,
})

/** A position that was given to a commit, or that there is none. */
export type GivenPosition = Awaited<ReturnType<Journal['allocate']>>

/** The next position, for one commit. */
export async function position(engine: Engine, epoch: Epoch): Promise<GivenPosition> {
  const [given = 'refused'] = await positions(engine, epoch, 1)
  return given
}

/** As much of the engine as moving the head takes. */
export type PositionEngine = Pick<Engine, 'tables' | 'log' | 'meter' | 'pause' | 'send'>

/** The next positions, by one update: for `count` commits, an answer for each. */
export async function positions(
  engine: PositionEngine,
  epoch: Epoch,
  count: number,
): Promise<readonly GivenPosition[]> {
  const move = moves.allocate({ epoch })
  const head = await moved(engine, { ...move, add: { last: count } })
  return Array.from({ length: count }, (_, index) =>
    head === 'refused' ? head : { seq: head.last - index, incarnation: head.incarnation },
  ).reverse()
}

/** @returns the head as it is after the move */
async function moved(engine: PositionEngine, move: HeadMove): Promise<Head | 'refused'> {
  if (!isAllowed(engine, move)) return 'refused'
  const update = { TableName: engine.tables.cluster, ...headUpdate(move), ReturnValues: 'ALL_NEW' } as const
  const result = await insisted(engine, () => engine.send('UpdateItem', update))
  if (result === 'refused') return result
  const head = headFrom(result.value.Attributes ?? {})
  tellBroken(engine, head, move.name)
  return head
}
