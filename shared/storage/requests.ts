import { defined } from '../values/defined.ts'
import type { Change, Expected } from './changes.ts'
import { type InTree, type Item, type Key, type Kind, specOf } from './kinds.ts'
import { byOwnNames, byStoredNames } from './stored-names.ts'

/** Names of the tables. */
export interface Tables {
  data: string
  cluster: string
  /** only where a ceremony is kept */
  ceremony?: string
}

/** An item as it stands in a table. None of the attribute names is a reserved word of the engine. */
export interface StoredItem {
  pk: string
  sk: string
  kind: Kind
  rev: string
  data: unknown
  /** the counter of its kind; absent: 0 */
  uses?: number
  expires?: number
  due?: number
  ttl?: number
  /** of the commit that wrote it, while this cluster keeps a journal: `<epoch>/<12 digits>` */
  pos?: string
  /** its hash in the tree, base64url of 32 bytes */
  leaf?: string
  /** its bucket in the tree: `<pk>/<sk>` */
  bucket?: string
}

/** 96 random bits, base64url: one for everything that a commit puts. */
export const newRevision = ({ bytes }: { bytes(count: number): Buffer }): string =>
  bytes(12).toString('base64url')

/** The table of an item. @throws Error for one that this function was not given */
export function tableOf(tables: Tables, { kind }: Pick<Key, 'kind'>): string {
  const { table } = specOf(kind)
  const name = tables[table]
  if (!name) throw new Error(`the table of a ${kind} needs the use "${table}" in the endpoint table`)
  return name
}

/** One element of a transaction in the engine's terms (document form). */
export type WriteItem =
  | { Put: Conditional & { Item: StoredItem } }
  | { Update: Conditional & { Key: { pk: string; sk: string }; UpdateExpression: string } }
  | { Delete: Conditional & { Key: { pk: string; sk: string } } }

interface Conditional {
  TableName: string
  ConditionExpression?: string
  ExpressionAttributeValues?: Record<string, unknown>
}

/** Items that die are deleted by the engine an hour after they stopped counting. */
const DELETION_GRACE_SECONDS = 3600

/** Bytes that a key's two parts, and an item as a whole, may have. */
const LONGEST_KEY = { pk: 2048, sk: 1024 }
const LARGEST_ITEM = 400_000

/** Whether the engine accepts a key: it refuses reads of others, too. */
export const isKey = ({ pk, sk }: Pick<Key, 'pk' | 'sk'>): boolean =>
  pk !== '' && sk !== '' && Buffer.byteLength(pk) <= LONGEST_KEY.pk && Buffer.byteLength(sk) <= LONGEST_KEY.sk

/** Whether an element can be stored; its JSON is at least as long as what the engine counts. */
export const isStorable = (write: WriteItem): boolean =>
  'Put' in write
    ? isKey(write.Put.Item) && Buffer.byteLength(JSON.stringify(write.Put.Item)) <= LARGEST_ITEM
    : isKey('Delete' in write ? write.Delete.Key : write.Update.Key)

/**
 * A change as the plain strategy writes it: one conditional element.
 * @param rev the new revision of everything that this commit puts
 * @param now epoch seconds: what has died by then is as good as absent
 */
export function toWrite(change: Change, rev: string, tables: Tables, now: number): WriteItem {
  if ('put' in change) {
    const { put, times, expected } = change
    const ttl = times.ttl ?? plainTtl(times.expires)
    const item: StoredItem = defined({ ...toStored(change, rev), ttl })
    return { Put: { TableName: tableOf(tables, put), Item: item, ...condition(put, expected, now) } }
  }
  if ('count' in change) {
    const { pk, sk } = change.count
    const checked = condition(change.count, change.expected, now)
    return {
      Update: {
        TableName: tableOf(tables, change.count),
        Key: { pk, sk },
        ...checked,
        UpdateExpression: 'SET uses = :left, rev = :next',
        ExpressionAttributeValues: {
          ...checked.ExpressionAttributeValues,
          ':left': change.left,
          ':next': rev,
        },
      },
    }
  }
  const { pk, sk } = change.delete
  return {
    Delete: {
      TableName: tableOf(tables, change.delete),
      Key: { pk, sk },
      ...condition(change.delete, change.expected, now),
    },
  }
}

/** When the engine may delete an item that dies, where no journal says otherwise. */
export const plainTtl = (expires: number | undefined): number | undefined =>
  expires === undefined ? undefined : expires + DELETION_GRACE_SECONDS

/** An item as a change stores it, but for what the way of writing decides: the engine's time, the place in a tree. */
export function toStored(
  { put: { pk, sk, kind }, data, times: { expires, due } }: Extract<Change, { put: Key }>,
  rev: string,
): StoredItem {
  return defined({ pk, sk, kind, rev, ...laidOut(kind, data), expires, due })
}

/**
 * An item that was read, in the form in which it would be written now. An older version may have written it otherwise:
 * whoever relies on the form compares the item's hash in the tree.
 */
export function asStored({
  pk,
  sk,
  kind,
  rev,
  data,
  expires,
  inTree: { due } = { leaf: '', bucket: '' },
}: Item): StoredItem {
  return toStored({ put: { pk, sk, kind }, data, times: defined({ expires, due }), expected: 'any' }, rev)
}

/** What a write carries from the item it read. */
const treeOf = ({ leaf, bucket, ttl, due, pos }: StoredItem): { inTree?: InTree } =>
  leaf === undefined || bucket === undefined ? {} : { inTree: defined({ leaf, bucket, ttl, due, pos }) }

/**
 * An element that leaves alone what a journaled commit has written.
 * @param since positions from this one on: absent, all
 */
export function belowJournal(write: WriteItem, since: string | undefined): WriteItem {
  const free = `attribute_not_exists(pos)${since === undefined ? '' : ' OR pos < :since'}`
  const fence = <T extends Conditional>(one: T): T => ({
    ...one,
    ConditionExpression: one.ConditionExpression ? `(${one.ConditionExpression}) AND (${free})` : free,
    ...(since === undefined
      ? {}
      : { ExpressionAttributeValues: { ...one.ExpressionAttributeValues, ':since': since } }),
  })
  if ('Put' in write) return { Put: fence(write.Put) }
  return 'Update' in write ? { Update: fence(write.Update) } : { Delete: fence(write.Delete) }
}

/** The data of an item as they stand in the table, their counter beside them. */
function laidOut(kind: Kind, data: object): Pick<StoredItem, 'data' | 'uses'> {
  const { packed, counter } = specOf(kind)
  const named = byStoredNames(kind, data)
  if (packed) return { data: JSON.stringify(named) }
  if (counter === undefined) return { data: named }
  const { [counter]: uses, ...rest } = named as Record<string, unknown>
  return defined({ data: rest, uses: uses ? Number(uses) : undefined })
}

function readBack(kind: Kind, { data, uses }: StoredItem): unknown {
  const { packed, counter } = specOf(kind)
  const named = byOwnNames(kind, packed ? JSON.parse(String(data)) : data)
  if (counter === undefined) return named
  const rest = named as Record<string, unknown>
  return { ...rest, [counter]: uses ?? rest[counter] ?? 0 }
}

function condition(
  { kind }: Key,
  expected: Expected,
  now: number,
): Pick<Conditional, 'ConditionExpression' | 'ExpressionAttributeValues'> {
  if (expected === 'any') return {}
  if (expected === 'absent') {
    const absent = 'attribute_not_exists(pk)'
    if (specOf(kind).expiry !== 'dies') return { ConditionExpression: absent }
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
 * An item as the domain sees it; undefined when it has died, or is of another kind than its key says.
 * @param now epoch seconds
 */
export function fromStored<K extends Kind>(
  kind: K,
  stored: StoredItem | undefined,
  now: number,
): Item<K> | undefined {
  if (!stored || stored.kind !== kind) return undefined
  if (specOf(kind).expiry === 'dies' && stored.expires !== undefined && stored.expires <= now)
    return undefined
  const { pk, sk, rev, expires } = stored
  return defined({
    kind,
    pk,
    sk,
    rev,
    data: readBack(kind, stored),
    expires,
    ...treeOf(stored),
  }) as Item<K>
}
