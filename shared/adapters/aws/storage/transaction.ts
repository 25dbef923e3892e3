import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Condition, Element, Place, Test, Transacted } from '../../../journal/journal.ts'
import { type StoredItem, type Tables, tableOf, type WriteItem } from '../../../storage/requests.ts'
import { attemptWrite, type Engine } from './engine.ts'
import { entryWrites } from './entries.ts'
import { type ExpressionParts, type Raw, type Terms, termsOf } from './expressions.ts'
import { headUpdate, isAllowed } from './head.ts'
import { bucketRenewal, bucketUpdate } from './tree.ts'

type Write = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

function testText(test: Test, { name, value }: Terms): string {
  if (test === 'absent') return `attribute_not_exists(${name('pk')})`
  const { rev, leaf, pos, posFrom, expiredBy, notOf } = test
  const equal = Object.entries({ rev, leaf, pos }).filter(([, wanted]) => wanted !== undefined)
  const all = equal.map(([attribute, wanted]) => `${name(attribute)} = ${value(wanted)}`)
  if (posFrom !== undefined) all.push(`${name('pos')} >= ${value(posFrom)}`)
  if (expiredBy !== undefined) all.push(`${name('expires')} <= ${value(expiredBy)}`)
  if (notOf !== undefined)
    all.push(
      `(attribute_not_exists(${name('bucket')}) OR NOT begins_with(${name('bucket')}, ${value(`t#${notOf}#`)}))`,
    )
  if (all.length === 0) throw new Error('a condition on an item names nothing')
  return all.join(' AND ')
}

/** A condition on an item in the engine's terms. */
export function conditionOf(condition: Condition): ExpressionParts {
  const all = termsOf()
  return { ConditionExpression: conditionText(condition, all), ...all.parts() }
}

function conditionText(condition: Condition, all: Terms): string {
  const tests = Array.isArray(condition) ? condition : [condition as Test]
  const text = tests.map(test => testText(test, all))
  return text.length === 1 ? text.join('') : text.map(one => `(${one})`).join(' OR ')
}

const keyOf = ({ pk, sk }: Place) => ({ pk, sk })

/** Of a transaction: an element, the counter of an item with its place in the journal, or a write as it is. */
export type Part =
  | Element
  | { readonly count: StoredItem; readonly if: Condition }
  | { readonly write: WriteItem }

/** The counter alone, and what the journal says of the item: all else stays what it is. */
function countUpdate({ pk, sk, uses, rev, pos, leaf, bucket, ttl }: StoredItem, condition: Condition) {
  const all = termsOf()
  const sets = Object.entries({ uses, rev, pos, leaf, bucket, ttl }).filter(
    ([, value]) => value !== undefined,
  )
  const set = sets.map(([attribute, value]) => `${all.name(attribute)} = ${all.value(value)}`)
  const remove = ttl === undefined ? ` REMOVE ${all.name('ttl')}` : ''
  const UpdateExpression = `SET ${set.join()}${remove}`
  return {
    Key: { pk, sk },
    UpdateExpression,
    ConditionExpression: conditionText(condition, all),
    ...all.parts(),
  }
}

/** A part in the engine's terms: one write, or several for a journal entry of several items. */
function writesOf(element: Part, tables: Tables, now: number): Write[] {
  if ('write' in element) return [element.write as Write]
  if ('count' in element)
    return [
      { Update: { TableName: tableOf(tables, element.count), ...countUpdate(element.count, element.if) } },
    ]
  if ('entry' in element) return entryWrites(element.entry, tables)
  if ('bucket' in element) return [{ Update: { TableName: tables.cluster, ...bucketUpdate(element, now) } }]
  if ('renew' in element) return [{ Update: { TableName: tables.cluster, ...bucketRenewal(element, now) } }]
  if ('head' in element) return [{ Update: { TableName: tables.cluster, ...headUpdate(element.head) } }]
  if ('check' in element)
    return [
      {
        ConditionCheck: {
          TableName: tableOf(tables, element.check),
          Key: keyOf(element.check),
          ConditionExpression: '',
          ...conditionOf(element.if),
        },
      },
    ]
  const { item, put } = element
  const at = { TableName: tableOf(tables, item), ...conditionOf(element.if) }
  return put ? [{ Put: { ...at, Item: put as unknown as Raw } }] : [{ Delete: { ...at, Key: keyOf(item) } }]
}

/**
 * A part that is refused once it was written, and whose writers then look whether it was by them. An engine may remember
 * the token of each transaction for ten minutes and look through all of them at the next, as the embedded one does (some
 * 40 ns each).
 */
const isEvident = (part: Part): boolean => 'entry' in part || ('bucket' in part && part.mark !== undefined)

/** All parts, or none. */
export async function transactParts(engine: Engine, parts: readonly Part[]): Promise<Transacted> {
  const refused = parts.flatMap((part, index) =>
    'head' in part && !isAllowed(engine, part.head) ? [index] : [],
  )
  if (refused.length > 0) return { condition: refused }
  const writes = parts.map(part => writesOf(part, engine.tables, engine.seconds()))
  const owner = writes.flatMap((list, index) => list.map(() => index))
  const TransactItems = writes.flat()
  const ClientRequestToken = parts.some(isEvident) ? undefined : engine.entropy.uuid()
  const input = { TransactItems, ClientRequestToken }
  const result = await attemptWrite(engine, () => engine.send('TransactWriteItems', input))
  if (result === 'again') return 'conflict'
  if ('value' in result) return 'done'
  return { condition: [...new Set(result.condition.map(index => owner[index] ?? 0))] }
}
