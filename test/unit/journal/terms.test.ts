import { expect, test } from 'vitest'
import { hasNeededTerms, termNeedsOfEntries, termNeedsOfItems } from '../../../shared/journal/terms.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'

const config = (data: object): StoredItem => ({
  pk: 'm#config',
  sk: 'client',
  kind: 'client-config',
  rev: 'r',
  data,
})

test('items need the highest key term that encrypted a field, and every other term that is not destroyed', () => {
  const items = [
    config({ secretKey: '2.abc', previousSecretKey: '3.abc', endpoint: '9.abc' }),
    { pk: 'policy', sk: 'p', kind: 'policy', rev: 'r', data: { text: '7.abc' } } as const,
  ]
  expect(termNeedsOfItems(items)).toEqual({ number: 3, ids: [] })
  expect(termNeedsOfItems([])).toEqual({ number: 0, ids: [] })
  expect(termNeedsOfItems([config({}), config({ secretKey: 'nonsense' })]).number).toBe(0)
  const term = (sk: string, data: object): StoredItem => ({ pk: 'term', sk, kind: 'term', rev: 'r', data })
  expect(termNeedsOfItems([term('a', { probe: '4.x' }), term('b', { probe: '5.x', destroyed: 1 })])).toEqual({
    number: 0,
    ids: ['a'],
  })
  const change = { kind: 'client-config', pk: 'm#config', sk: 'client', prev: null, next: null } as const
  const body = [
    { ...change, item: items[0] ?? null },
    { ...change, item: null },
  ]
  expect(termNeedsOfEntries([{ epoch: '', seq: 1, id: '', at: 0, body }]).number).toBe(3)
})

test('needed key terms are held only if number and identities are held', () => {
  const held = { number: 2, ids: ['a', 'b'] }
  expect(hasNeededTerms(held, { number: 2, ids: ['b'] })).toBe(true)
  expect(hasNeededTerms(held, { number: 3, ids: [] })).toBe(false)
  expect(hasNeededTerms(held, { number: 1, ids: ['c'] })).toBe(false)
})
