import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Condition, Element, Place, Test } from '../../../journal/journal.ts'
import { decodeBody, encodeBody, type JournalEntry } from '../../../journal/journal-entry.ts'
import { type Position, seqText } from '../../../journal/position.ts'
import { type StoredItem, type Tables, tableOf, type WriteItem } from '../../../storage/requests.ts'
import { bounds } from '../../../values/bounds.ts'
import { defined } from '../../../values/defined.ts'
import { bucketRenewal, bucketUpdate } from './buckets.ts'
import { type ExpressionParts, type Raw, type Terms, termsOf } from './expressions.ts'
import { headUpdate } from './head.ts'

type Write = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

/** Partitions over which the journal entries of an epoch are spread. */
const SPREAD = 32
const DAY_SECONDS = 86_400
/** Bytes of a body that stand in one item. */
const LARGEST_PART = 300_000

export const entryKey = ({ epoch, seq }: Position) => ({
  pk: `j#${epoch}#${seq % SPREAD}`,
  sk: seqText(seq),
})

/** Further parts of a body too large for one item. */
const partKey = (position: Position, part: number) => {
  const { pk, sk } = entryKey(position)
  return { pk, sk: `${sk}.${part}` }
}

export const partKeys = (position: Position, parts: number) =>
  Array.from({ length: parts }, (_, index) => partKey(position, index + 1))

/** A journal entry as it stands in the table: one item, or several. */
export function entryItems(entry: JournalEntry): Raw[] {
  const ttl = Math.floor(entry.at / 1000) + bounds.JOURNAL_RETENTION_DAYS * DAY_SECONDS
  const { id, at, noop, root } = entry
  const common = defined({ kind: 'cell', id, at, ttl, root })
  if (noop) return [{ ...entryKey(entry), ...common, noop }]
  const bytes = encodeBody(entry.body)
  const pieces = Array.from({ length: Math.ceil(bytes.length / LARGEST_PART) }, (_, index) =>
    bytes.subarray(index * LARGEST_PART, (index + 1) * LARGEST_PART),
  )
  const [body, ...rest] = pieces
  return [
    defined({ ...entryKey(entry), ...common, body, parts: rest.length > 0 ? rest.length : undefined }),
    ...rest.map((piece, index) => ({ ...partKey(entry, index + 1), kind: 'cell', ttl, body: piece })),
  ]
}

/** How many further items a journal entry has. */
export const partsOf = (item: Raw): number => Number(item['parts'] ?? 0)

/** A journal entry as it was written. @param rest its further items, in their order */
export function entryFrom(position: Position, item: Raw, rest: readonly Raw[] = []): JournalEntry {
  const { id, at, noop, root } = item as { id: string; at: number; noop?: true; root?: string }
  const bytes = Buffer.concat(
    [item, ...rest].map(part => (part['body'] as Uint8Array | undefined) ?? Buffer.alloc(0)),
  )
  return defined({
    ...position,
    id,
    at,
    body: noop ? [] : decodeBody(bytes, position),
    noop: noop || undefined,
    root,
  })
}

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
export function writesOf(element: Part, tables: Tables, now: number): Write[] {
  if ('write' in element) return [element.write as Write]
  if ('count' in element)
    return [
      { Update: { TableName: tableOf(tables, element.count), ...countUpdate(element.count, element.if) } },
    ]
  if ('entry' in element)
    return entryItems(element.entry).map(Item => ({
      Put: { TableName: tables.cluster, Item, ConditionExpression: 'attribute_not_exists(pk)' },
    }))
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
