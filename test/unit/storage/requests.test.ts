import { describe, expect, test } from 'vitest'
import { toTransactItem } from '../../../shared/adapters/aws/storage/plain-commit.ts'
import {
  type Change,
  createItem,
  removeItem,
  removeItemIfUnchanged,
  replaceItem,
  setItemCounter,
} from '../../../shared/storage/changes.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import {
  fromStoredItem,
  isStorableWrite,
  isValidItemKey,
  type StoredItem,
  toItemWrite,
} from '../../../shared/storage/requests.ts'
import { token } from '../tokens/support.ts'

const tables = { data: 'the-data', cluster: 'the-cluster' }
const NOW = 1_800_000_000
const toItem = (change: Change) => toItemWrite(change, 'rev-2', tables, NOW)
const written = (change: Change) => toTransactItem(toItem(change))
const policy: Item<'policy'> = { ...key('policy', 'dev'), rev: 'rev-1', data: { text: '#' } }
const place = key('token', 'acc')
const { numUses: _, ...rest } = token()

describe('changes and their expectations', () => {
  test.each<[name: string, change: Change, expected: object]>([
    [
      'a creation: nothing',
      createItem(policy, policy.data),
      { kind: 'put', key: policy, data: { text: '#' }, expected: 'absent', times: {} },
    ],
    [
      'a replacement: what was read',
      replaceItem(policy, policy, policy.data),
      { kind: 'put', key: policy, data: { text: '#' }, expected: { rev: 'rev-1' }, times: {} },
    ],
    [
      'a replacement of what was not there: nothing',
      replaceItem(policy, undefined, policy.data),
      { kind: 'put', key: policy, data: { text: '#' }, expected: 'absent', times: {} },
    ],
    ['a deletion: whatever is there', removeItem(policy), { kind: 'delete', key: policy, expected: 'any' }],
    [
      'a deletion of what was read',
      removeItemIfUnchanged(policy),
      { kind: 'delete', key: policy, expected: { rev: 'rev-1' } },
    ],
    [
      'times',
      createItem(place, token(), { expires: 1, due: 2, ttl: 3 }),
      { kind: 'put', key: place, data: token(), expected: 'absent', times: { expires: 1, due: 2, ttl: 3 } },
    ],
  ])('%s', (_, change, expected) => expect(change).toEqual(expected))
})

describe('the DynamoDB write of a change', () => {
  test.each<[name: string, change: Change, write: object]>([
    [
      'a creation',
      createItem(policy, policy.data),
      {
        Put: {
          TableName: 'the-data',
          Item: { pk: 'policy', sk: 'dev', kind: 'policy', rev: 'rev-2', data: { text: '#' } },
          ConditionExpression: 'attribute_not_exists(pk)',
        },
      },
    ],
    [
      'a replacement',
      replaceItem(policy, policy, policy.data),
      {
        Put: {
          TableName: 'the-data',
          Item: { pk: 'policy', sk: 'dev', kind: 'policy', rev: 'rev-2', data: { text: '#' } },
          ConditionExpression: 'rev = :rev',
          ExpressionAttributeValues: { ':rev': 'rev-1' },
        },
      },
    ],
    [
      'a deletion',
      removeItem(policy),
      { Delete: { TableName: 'the-data', Key: { pk: 'policy', sk: 'dev' } } },
    ],
    [
      'a deletion in the other table',
      removeItem(key('tidy-run', 'm', 'x')),
      { Delete: { TableName: 'the-cluster', Key: { pk: 'm#tidy', sk: 'x' } } },
    ],
    [
      'a creation where something may have died',
      createItem(place, token(), { expires: NOW + 60 }),
      {
        Put: {
          TableName: 'the-data',
          Item: {
            pk: 'token#acc',
            sk: 'token',
            kind: 'token',
            rev: 'rev-2',
            data: rest,
            expires: NOW + 60,
            ttl: NOW + 3660,
          },
          ConditionExpression: 'attribute_not_exists(pk) OR expires <= :now',
          ExpressionAttributeValues: { ':now': NOW },
        },
      },
    ],
    [
      'a count: nothing but the counter and the revision',
      setItemCounter({ ...place, rev: 'rev-1', data: token({ numUses: 3 }), expires: NOW + 9 }, 2),
      {
        Update: {
          TableName: 'the-data',
          Key: { pk: 'token#acc', sk: 'token' },
          ConditionExpression: 'rev = :rev',
          UpdateExpression: 'SET uses = :left, rev = :next',
          ExpressionAttributeValues: { ':rev': 'rev-1', ':left': 2, ':next': 'rev-2' },
        },
      },
    ],
  ])('%s', (_, change, write) => expect(written(change)).toEqual(write))

  test('a given time to live overrides the one from the expiry', () => {
    expect(written(createItem(place, token(), { expires: 5, ttl: 7, due: 6 }))).toMatchObject({
      Put: { Item: { expires: 5, ttl: 7, due: 6 } },
    })
    expect(written(createItem(policy, policy.data))).not.toHaveProperty('Put.Item.ttl')
  })
})

describe('items as they are read', () => {
  const item: StoredItem = { pk: 'token#acc', sk: 'token', kind: 'token', rev: 'r', data: token(), ttl: 9 }

  test.each<[name: string, parts: Partial<StoredItem>, found: boolean]>([
    ['without an expiry', {}, true],
    ['that expires later', { expires: NOW + 1 }, true],
    ['that expires now', { expires: NOW }, false],
    ['that has expired', { expires: NOW - 1 }, false],
    ['of another kind', { kind: 'wrapped' }, false],
  ])('an item %s is read: %s', (_, parts, found) => {
    expect(fromStoredItem('token', { ...item, ...parts }, NOW) !== undefined).toBe(found)
  })

  test('a swept item is read until it is removed', () => {
    const entry = { ...item, kind: 'deny', expires: NOW - 1 } as const
    expect(fromStoredItem('deny', entry, NOW)).toMatchObject({ kind: 'deny', expires: NOW - 1 })
  })

  test.each([
    [{ uses: 3 }, 3],
    [{}, 0],
    // a token as stored before counters were kept outside the data
    [{ data: token({ numUses: 5 }) }, 5],
    [{ data: token({ numUses: 5 }), uses: 4 }, 4],
  ])('the counter of %j is %i', (parts, left) => {
    const stored = { ...item, data: rest, ...parts }
    expect(fromStoredItem('token', stored, NOW)?.data).toEqual(token({ numUses: left }))
  })

  test('a counter is stored outside the data, and read back into it', () => {
    const write = written(createItem(place, token({ numUses: 7 })))
    expect(write).toMatchObject({ Put: { Item: { data: rest, uses: 7 } } })
    const { Item } = write.Put as unknown as { Item: StoredItem }
    expect(fromStoredItem('token', Item, NOW)?.data).toEqual(token({ numUses: 7 }))
  })

  test('only known attributes are read', () => {
    expect(fromStoredItem('token', { ...item, expires: NOW + 1, due: 3 }, NOW)).toEqual({
      kind: 'token',
      pk: 'token#acc',
      sk: 'token',
      rev: 'r',
      data: token(),
      expires: NOW + 1,
    })
    expect(fromStoredItem('token', undefined, NOW)).toBeUndefined()
  })
})

test('kinds that every request reads are stored as JSON text, and read back unchanged', () => {
  const table = { mounts: [], removing: [] }
  const write = written(createItem(key('mounts'), table))
  expect(write).toMatchObject({ Put: { Item: { data: '{"mounts":[],"removing":[]}' } } })
  const { Item } = write.Put as unknown as { Item: StoredItem }
  expect(fromStoredItem('mounts', Item, NOW)?.data).toEqual(table)
})

describe('limits of DynamoDB', () => {
  test.each([
    [{ pk: 'p', sk: 's' }, true],
    [{ pk: 'p'.repeat(2048), sk: 's'.repeat(1024) }, true],
    [{ pk: 'p'.repeat(2049), sk: 's' }, false],
    [{ pk: 'p', sk: 's'.repeat(1025) }, false],
    [{ pk: 'p', sk: 'é'.repeat(513) }, false],
    [{ pk: '', sk: 's' }, false],
    [{ pk: 'p', sk: '' }, false],
  ])('isKey accepts 1 to 2048 and 1 to 1024 bytes (%#): $1', (place, fits) =>
    expect(isValidItemKey(place)).toBe(fits),
  )

  test('an item of more than 400 kB is not storable, but may be deleted', () => {
    const text = (length: number) => createItem(policy, { text: 'x'.repeat(length) })
    expect(isStorableWrite(toItem(text(390_000)))).toBe(true)
    expect(isStorableWrite(toItem(text(400_000)))).toBe(false)
    expect(isStorableWrite(toItem(removeItem(key('policy', 'x'.repeat(1025)))))).toBe(false)
    expect(isStorableWrite(toItem(removeItem(key('policy', ''))))).toBe(false)
    expect(isStorableWrite(toItem(removeItem(policy)))).toBe(true)
  })
})
