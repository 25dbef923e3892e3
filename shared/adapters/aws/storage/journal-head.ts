import type { Head } from '../../../journal/head.ts'
import type { Journal } from '../../../journal/journal.ts'
import { storedName } from '../../../storage/stored-names.ts'
import { insisted } from './attempts.ts'
import { headFrom, headKey, headUpdate } from './elements.ts'
import { type Engine, nameOf } from './engine.ts'

/** The head of the journal in its table. */
export const dynamoHead = (engine: Engine): Pick<Journal, 'head' | 'moveHead' | 'allocate'> => ({
  head: async () => {
    const at = { table: engine.tables.cluster, ...headKey }
    const found = (await engine.get([at])).get(nameOf(at))
    return found && headFrom(found)
  },
  moveHead: (expect, next) => updateHead(engine, headUpdate(expect, next)),
  allocate: async epoch => {
    const next = await updateHead(engine, {
      UpdateExpression: 'ADD #last :one',
      ConditionExpression: '#mode = :writing AND epoch = :epoch',
      ExpressionAttributeNames: { '#mode': 'mode', '#last': storedName('head', 'seq') },
      ExpressionAttributeValues: { ':one': 1, ':writing': 'writing', ':epoch': epoch },
    })
    return next === 'refused' ? next : { seq: next.last, incarnation: next.incarnation }
  },
})

/** @returns the head as it is after the update */
async function updateHead(engine: Engine, input: object): Promise<Head | 'refused'> {
  const update = {
    TableName: engine.tables.cluster,
    Key: headKey,
    UpdateExpression: '',
    ...input,
    ReturnValues: 'ALL_NEW',
  } as const
  const result = await insisted(engine, () => engine.send('UpdateItem', update))
  return result === 'refused' ? result : headFrom(result.value.Attributes ?? {})
}
