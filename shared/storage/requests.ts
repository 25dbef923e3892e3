import type { Change, Expected } from './changes.ts'
import { type Item, type Key, type Kind, specOf } from './kinds.ts'

/** Names of the two tables. */
export interface Tables {
  data: string
  cluster: string
}

/** An item as it stands in a table. Attribute names are reserved words nowhere. */
export interface StoredItem {
  pk: string
  sk: string
  kind: Kind
  rev: string
  data: unknown
  expires?: number
  due?: number
  ttl?: number
}

export const tableOf = (tables: Tables, key: Key): string => tables[specOf(key.kind).table]

/** One element of a transaction in the engine's terms (document form). */
export type WriteItem =
  | { Put: Conditional & { Item: StoredItem } }
  | { Delete: Conditional & { Key: { pk: string; sk: string } } }
  | { ConditionCheck: Conditional & { Key: { pk: string; sk: string }; ConditionExpression: string } }

interface Conditional {
  TableName: string
  ConditionExpression?: string
  ExpressionAttributeValues?: Record<string, unknown>
}

/** Items that die are deleted by the engine an hour after they stopped counting. */
const GRACE = 3600

/** Bytes that a key's two parts, and an item as a whole, may have. */
const LONGEST_KEY = { pk: 2048, sk: 1024 }
const LARGEST_ITEM = 400_000

/** Whether an item can stand at a key at all; the engine refuses to look at one where it cannot. */
export const isKey = ({ pk, sk }: Pick<Key, 'pk' | 'sk'>): boolean =>
  pk !== '' && sk !== '' && Buffer.byteLength(pk) <= LONGEST_KEY.pk && Buffer.byteLength(sk) <= LONGEST_KEY.sk

/** Whether an element can be stored; its JSON is at least as long as what the engine counts. */
export const isStorable = (write: WriteItem): boolean =>
  'Put' in write
    ? isKey(write.Put.Item) && Buffer.byteLength(JSON.stringify(write.Put.Item)) <= LARGEST_ITEM
    : isKey('Delete' in write ? write.Delete.Key : write.ConditionCheck.Key)

/**
 * A change as the plain strategy writes it: one conditional element.
 * @param rev the new revision of everything that this commit puts
 * @param now epoch seconds: what has died by then is as good as absent
 */
export function toWrite(change: Change, rev: string, tables: Tables, now: number): WriteItem {
  if ('put' in change) {
    const { put, data, times, expected } = change
    const ttl = times.ttl ?? (times.expires === undefined ? undefined : times.expires + GRACE)
    const { pk, sk, kind } = put
    const stored = specOf(kind).packed ? JSON.stringify(data) : data
    const item: StoredItem = {
      pk,
      sk,
      kind,
      rev,
      data: stored,
      ...times,
      ...(ttl === undefined ? {} : { ttl }),
    }
    return { Put: { TableName: tableOf(tables, put), Item: item, ...condition(put, expected, now) } }
  }
  if ('delete' in change) {
    const { pk, sk } = change.delete
    return {
      Delete: {
        TableName: tableOf(tables, change.delete),
        Key: { pk, sk },
        ...condition(change.delete, change.expected, now),
      },
    }
  }
  const { pk, sk } = change.check
  const checked = condition(change.check, change.expected, now)
  return {
    ConditionCheck: {
      TableName: tableOf(tables, change.check),
      Key: { pk, sk },
      ...checked,
      ConditionExpression: checked.ConditionExpression ?? 'attribute_exists(pk)',
    },
  }
}

function condition(
  { kind }: Key,
  expected: Expected | 'present',
  now: number,
): Pick<Conditional, 'ConditionExpression' | 'ExpressionAttributeValues'> {
  if (expected === 'any') return {}
  if (expected === 'absent' || expected === 'present') {
    const present = expected === 'present'
    const there = present ? 'attribute_exists(pk)' : 'attribute_not_exists(pk)'
    if (specOf(kind).expiry !== 'dies') return { ConditionExpression: there }
    const alive = 'AND (attribute_not_exists(expires) OR expires > :now)'
    return {
      ConditionExpression: present ? `${there} ${alive}` : `${there} OR expires <= :now`,
      ExpressionAttributeValues: { ':now': now },
    }
  }
  return { ConditionExpression: 'rev = :rev', ExpressionAttributeValues: { ':rev': expected.rev } }
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
  const data = specOf(kind).packed ? JSON.parse(String(stored.data)) : stored.data
  return { kind, pk, sk, rev, data, ...(expires === undefined ? {} : { expires }) } as Item<K>
}
