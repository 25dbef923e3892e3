import { defined } from '../values/defined.ts'
import type { Change, ExpectedItem, PutChange } from './changes.ts'
import { checkRequiredAttributes, checkStoredFormat, STORED_FORMAT } from './format.ts'
import { type Item, itemKindSpec, type Key, type Kind, type TreeMembership } from './kinds.ts'

/** The names of the tables. */
export interface TableNames {
  data: string
  cluster: string
  /** `ceremony` exists only in functions that run a ceremony */
  ceremony?: string
}

/** An item as DynamoDB stores it. No attribute name of a stored item is a reserved word of DynamoDB. */
export interface StoredItem {
  pk: string
  sk: string
  kind: Kind
  rev: string
  data: unknown
  /** `format` exists only on kinds whose row has `format` */
  format?: number
  /** `uses` is the counter of the item's kind; absent: 0 */
  uses?: number
  expires?: number
  due?: number
  ttl?: number
  /**
   * `pos` is the position of the commit that wrote the item, while this cluster keeps a journal: `<epoch>/<12
   * digits>`
   */
  pos?: string
  /** `leaf` is the item's hash in the tree, base64url of 32 bytes */
  leaf?: string
  /** `bucket` is the item's bucket in the tree: `<pk>/<sk>` */
  bucket?: string
}

/** Creates the revision of everything that a commit puts: 96 random bits, base64url. */
export const newRevision = ({ bytes }: { bytes(count: number): Buffer }): string =>
  bytes(12).toString('base64url')

/**
 * Returns the table of an item.
 * @throws Error if this function has no access to the table
 */
export function tableNameOf(tables: TableNames, { kind }: Pick<Key, 'kind'>): string {
  const { table } = itemKindSpec(kind)
  const name = tables[table]
  if (!name)
    throw new Error(`add the use "${table}" to the endpoint table, for access to the table of a ${kind}`)
  return name
}

/** A conditional write of one item: the input of `PutItem`, `UpdateItem` or `DeleteItem` (document form). */
export type ItemWrite =
  | { readonly kind: 'Put'; readonly input: Conditional & { Item: StoredItem } }
  | {
      readonly kind: 'Update'
      readonly input: Conditional & { Key: { pk: string; sk: string }; UpdateExpression: string }
    }
  | { readonly kind: 'Delete'; readonly input: Conditional & { Key: { pk: string; sk: string } } }

interface Conditional {
  TableName: string
  ConditionExpression?: string
  ExpressionAttributeValues?: Record<string, unknown>
}

/** DynamoDB may delete an expired item an hour after it has stopped to count. */
const DELETION_GRACE_SECONDS = 3600

/** Limits of DynamoDB: bytes of the two parts of a key, and of a whole item. */
const LONGEST_KEY = { pk: 2048, sk: 1024 }
const LARGEST_ITEM = 400_000

/** Reports whether DynamoDB accepts a key. DynamoDB refuses even reads of keys beyond its limits. */
export const isValidItemKey = ({ pk, sk }: Pick<Key, 'pk' | 'sk'>): boolean =>
  pk !== '' && sk !== '' && Buffer.byteLength(pk) <= LONGEST_KEY.pk && Buffer.byteLength(sk) <= LONGEST_KEY.sk

/** Reports whether DynamoDB accepts a write. An item's JSON is at least as long as the size that DynamoDB counts. */
export const isStorableWrite = ({ kind, input }: ItemWrite): boolean =>
  kind === 'Put'
    ? isValidItemKey(input.Item) && Buffer.byteLength(JSON.stringify(input.Item)) <= LARGEST_ITEM
    : isValidItemKey(input.Key)

/**
 * Returns the conditional write of a change while no journal is kept.
 * @param rev the new revision of every item that this commit puts
 * @param now epoch seconds: an item that had expired by `now` counts as absent
 */
export function toItemWrite(change: Change, rev: string, tables: TableNames, now: number): ItemWrite {
  const { key, expected } = change
  const { pk, sk } = key
  const at = { TableName: tableNameOf(tables, key), ...makeCondition(key, expected, now) }
  switch (change.kind) {
    case 'put': {
      const ttl = change.times.ttl ?? ttlWithoutJournal(change.times.expires)
      return { kind: 'Put', input: { ...at, Item: defined({ ...toStoredItem(change, rev), ttl }) } }
    }
    case 'count': {
      const values = { ...at.ExpressionAttributeValues, ':left': change.left, ':next': rev }
      const UpdateExpression = 'SET uses = :left, rev = :next'
      return {
        kind: 'Update',
        input: { ...at, Key: { pk, sk }, UpdateExpression, ExpressionAttributeValues: values },
      }
    }
    case 'delete':
      return { kind: 'Delete', input: { ...at, Key: { pk, sk } } }
  }
}

/** Returns when DynamoDB may delete an item that dies, while no journal is kept. */
export const ttlWithoutJournal = (expires: number | undefined): number | undefined =>
  expires === undefined ? undefined : expires + DELETION_GRACE_SECONDS

/**
 * Returns an item as a change stores it, without the attributes that depend on the way of writing: `ttl`, and the
 * place in a tree.
 */
export function toStoredItem(
  { key: { pk, sk, kind }, data, times: { expires, due } }: Pick<PutChange, 'key' | 'data' | 'times'>,
  rev: string,
): StoredItem {
  const format = itemKindSpec(kind).format && STORED_FORMAT
  return defined({ pk, sk, kind, rev, format, ...layOut(kind, data), expires, due })
}

/**
 * Returns an item that was read, in the form in which the present version would write it. The stored copy may have
 * another form, so callers that rely on the form compare the item's hash in the tree.
 */
export function itemAsStored({
  pk,
  sk,
  kind,
  rev,
  data,
  expires,
  inTree: { due } = { leaf: '', bucket: '' },
}: Item): StoredItem {
  return toStoredItem({ key: { pk, sk, kind }, data, times: defined({ expires, due }) }, rev)
}

/** Returns the attributes of a read item that a write needs. */
const treeOf = ({ leaf, bucket, ttl, due, pos }: StoredItem): { inTree?: TreeMembership } =>
  leaf === undefined || bucket === undefined ? {} : { inTree: defined({ leaf, bucket, ttl, due, pos }) }

/**
 * Adds the condition that no journaled commit has written the item.
 * @param since only commits at this position or later count; absent: all commits
 */
export function requireBelowJournal<W extends ItemWrite>({ kind, input }: W, since: string | undefined): W {
  const free = `attribute_not_exists(pos)${since === undefined ? '' : ' OR pos < :since'}`
  const fence = {
    ConditionExpression: input.ConditionExpression ? `(${input.ConditionExpression}) AND (${free})` : free,
    ...(since === undefined
      ? {}
      : { ExpressionAttributeValues: { ...input.ExpressionAttributeValues, ':since': since } }),
  }
  return { kind, input: { ...input, ...fence } } as W
}

/** Returns the data of an item as stored, with its counter outside `data`. */
function layOut(kind: Kind, data: object): Pick<StoredItem, 'data' | 'uses'> {
  const { packed, counter } = itemKindSpec(kind)
  if (packed) return { data: JSON.stringify(data) }
  if (counter === undefined) return { data }
  const { [counter]: uses, ...rest } = data as Record<string, unknown>
  return defined({ data: rest, uses: uses ? Number(uses) : undefined })
}

function readBack(kind: Kind, { data, uses }: StoredItem): object {
  const { packed, counter } = itemKindSpec(kind)
  const read = (packed ? JSON.parse(String(data)) : data) as object
  if (counter === undefined) return read
  const rest = read as Record<string, unknown>
  return { ...rest, [counter]: uses ?? rest[counter] ?? 0 }
}

function makeCondition(
  { kind }: Key,
  expected: ExpectedItem,
  now: number,
): Pick<Conditional, 'ConditionExpression' | 'ExpressionAttributeValues'> {
  if (expected === 'any') return {}
  if (expected === 'absent') {
    const absent = 'attribute_not_exists(pk)'
    if (itemKindSpec(kind).expiry !== 'dies') return { ConditionExpression: absent }
    return {
      ConditionExpression: `${absent} OR expires <= :now`,
      ExpressionAttributeValues: { ':now': now },
    }
  }
  return {
    ConditionExpression: `${expected.orAbsent ? 'attribute_not_exists(pk) OR ' : ''}rev = :rev`,
    ExpressionAttributeValues: { ':rev': expected.rev },
  }
}

/**
 * Returns an item in the form for handlers; undefined if the item has expired, or has another kind than its key.
 * @param now epoch seconds
 */
export function fromStoredItem<K extends Kind>(
  kind: K,
  stored: StoredItem | undefined,
  now: number,
): Item<K> | undefined {
  if (!stored || stored.kind !== kind) return undefined
  const { format, required, expiry } = itemKindSpec(kind)
  if (format) checkStoredFormat('cluster record', stored.format)
  if (expiry === 'dies' && stored.expires !== undefined && stored.expires <= now) return undefined
  const { pk, sk, rev, expires } = stored
  const data = readBack(kind, stored)
  if (required) checkRequiredAttributes(kind, required, data)
  return defined({
    kind,
    pk,
    sk,
    rev,
    data,
    expires,
    ...treeOf(stored),
  }) as Item<K>
}
