import type { Head } from '../../../journal/head.ts'
import type { Journal } from '../../../journal/journal.ts'
import { type HeadMove, moves } from '../../../journal/transitions.ts'
import { insisted } from './attempts.ts'
import { type Engine, nameOf } from './engine.ts'
import { headFrom, headKey, headUpdate, isAllowed, tellBroken } from './head.ts'

/** The head of the journal in its table. One that is not what its rules say, or would not be, is reported to the log. */
export const dynamoHead = (engine: Engine): Pick<Journal, 'head' | 'moveHead' | 'allocate'> => ({
  head: async () => {
    const at = { table: engine.tables.cluster, ...headKey }
    const found = (await engine.get([at])).get(nameOf(at))
    const head = found && headFrom(found)
    if (head) tellBroken(engine, head, '')
    return head
  },
  moveHead: move => moved(engine, move),
  allocate: async epoch => {
    const head = await moved(engine, moves.allocate({ epoch }))
    return head === 'refused' ? head : { seq: head.last, incarnation: head.incarnation }
  },
})

/** @returns the head as it is after the move */
async function moved(engine: Engine, move: HeadMove): Promise<Head | 'refused'> {
  if (!isAllowed(engine, move)) return 'refused'
  const update = { TableName: engine.tables.cluster, ...headUpdate(move), ReturnValues: 'ALL_NEW' } as const
  const result = await insisted(engine, () => engine.send('UpdateItem', update))
  if (result === 'refused') return result
  const head = headFrom(result.value.Attributes ?? {})
  tellBroken(engine, head, move.name)
  return head
}
