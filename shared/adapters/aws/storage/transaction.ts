import type {
  ItemCondition,
  ItemPlace,
  ItemTest,
  TransactionElement,
  TransactionOutcome,
} from '../../../journal/journal.ts'
import { type ItemWrite, type StoredItem, type TableNames, tableNameOf } from '../../../storage/requests.ts'
import type { PlainItem } from '../wire/values.ts'
import {
  attemptWrite,
  type ConditionParts,
  createExpressionNames,
  type ExpressionNames,
} from './conditional-writes.ts'
import type { StorageEngine } from './engine.ts'
import { buildEntryWrites } from './entries.ts'
import { buildHeadUpdate, isHeadMoveAllowed } from './head.ts'
import { type TransactItem, toTransactItem } from './plain-commit.ts'
import { buildBucketRenewal, buildBucketUpdate } from './tree.ts'

function testText(test: ItemTest, { name, value }: ExpressionNames): string {
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
  if (all.length === 0) throw new Error('a condition on an item names no attribute')
  return all.join(' AND ')
}

/** Returns the expression of a condition on an item. */
export function buildConditionExpression(condition: ItemCondition): ConditionParts {
  const all = createExpressionNames()
  return { ConditionExpression: conditionText(condition, all), ...all.parts() }
}

function conditionText(condition: ItemCondition, all: ExpressionNames): string {
  const tests = Array.isArray(condition) ? condition : [condition as ItemTest]
  const text = tests.map(test => testText(test, all))
  return text.length === 1 ? text.join('') : text.map(one => `(${one})`).join(' OR ')
}

const keyOf = ({ pk, sk }: ItemPlace) => ({ pk, sk })

/**
 * A part of a transaction: an element, a new count of an item with its place in the journal, or a write to the own
 * tables.
 */
export type TransactionPart =
  | TransactionElement
  | { readonly kind: 'count'; readonly count: StoredItem; readonly if: ItemCondition }
  | { readonly kind: 'write'; readonly write: ItemWrite }

/** Sets only the counter of an item and its place in the journal. */
function countUpdate({ pk, sk, uses, rev, pos, leaf, bucket, ttl }: StoredItem, condition: ItemCondition) {
  const all = createExpressionNames()
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

/** Returns the writes of a part: one write, or several for a large journal entry. */
function writesOf(part: TransactionPart, tables: TableNames, now: number): TransactItem[] {
  const update = (
    input: Pick<NonNullable<TransactItem['Update']>, 'Key' | 'UpdateExpression'>,
    TableName = tables.cluster,
  ) => [{ Update: { TableName, ...input } }]
  switch (part.kind) {
    case 'write':
      return [toTransactItem(part.write)]
    case 'count':
      return update(countUpdate(part.count, part.if), tableNameOf(tables, part.count))
    case 'entry':
      return buildEntryWrites(part.entry, tables)
    case 'bucket':
      return update(buildBucketUpdate(part, now))
    case 'renewal':
      return update(buildBucketRenewal(part, now))
    case 'head':
      return update(buildHeadUpdate(part.head))
    case 'check': {
      const condition = { ConditionExpression: '', ...buildConditionExpression(part.if) }
      return [
        {
          ConditionCheck: {
            TableName: tableNameOf(tables, part.check),
            Key: keyOf(part.check),
            ...condition,
          },
        },
      ]
    }
    case 'item': {
      const { item, put } = part
      const at = { TableName: tableNameOf(tables, item), ...buildConditionExpression(part.if) }
      return [
        put ? { Put: { ...at, Item: put as unknown as PlainItem } } : { Delete: { ...at, Key: keyOf(item) } },
      ]
    }
  }
}

/**
 * Reports whether DynamoDB refuses a repetition of a transaction with this part, so that its writer finds that the
 * first attempt took effect. A transaction whose repetition is refused needs no token. DynamoDB remembers tokens of
 * transactions for ten minutes. The embedded engine searches all remembered tokens at each transaction (some 40 ns
 * per token).
 */
const isEvident = (part: TransactionPart): boolean =>
  part.kind === 'entry' || (part.kind === 'bucket' && part.mark !== undefined)

/** Writes all parts of a transaction or none. */
export async function writeTransaction(
  engine: StorageEngine,
  parts: readonly TransactionPart[],
): Promise<TransactionOutcome> {
  const refused = parts.flatMap((part, index) =>
    part.kind === 'head' && !isHeadMoveAllowed(engine, part.head) ? [index] : [],
  )
  if (refused.length > 0) return { condition: refused }
  const writes = parts.map(part => writesOf(part, engine.tables, engine.seconds()))
  const owner = writes.flatMap((list, index) => list.map(() => index))
  const TransactItems = writes.flat()
  const ClientRequestToken = parts.some(isEvident) ? undefined : engine.entropy.uuid()
  const input = { TransactItems, ClientRequestToken }
  const result = await attemptWrite(engine, () => engine.send('TransactWriteItems', input))
  if (result.ok) return 'done'
  if (result.fault.kind === 'busy') return 'conflict'
  return { condition: [...new Set(result.fault.places.map(index => owner[index] ?? 0))] }
}
