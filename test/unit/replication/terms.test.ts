import { expect, test } from 'vitest'
import { newestTermIn, newestTermOf } from '../../../shared/replication/terms.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'

const config = (data: object): StoredItem => ({
  pk: 'm#config',
  sk: 'client',
  kind: 'client-config',
  rev: 'r',
  data,
})

test('the newest term that sealed anything: only sealed fields count', () => {
  const items = [
    config({ secretKey: '2.abc', previousSecretKey: '3.abc', endpoint: '9.abc' }),
    { pk: 'policy', sk: 'p', kind: 'policy', rev: 'r', data: { text: '7.abc' } } as const,
  ]
  expect(newestTermOf(items)).toBe(3)
  expect(newestTermOf([])).toBe(0)
  expect(newestTermOf([config({}), config({ secretKey: 'nonsense' })])).toBe(0)
  const change = { kind: 'client-config', pk: 'm#config', sk: 'client', prev: null, next: null } as const
  const body = [
    { ...change, item: items[0] ?? null },
    { ...change, item: null },
  ]
  expect(newestTermIn([{ epoch: '', seq: 1, id: '', at: 0, body }])).toBe(3)
})
