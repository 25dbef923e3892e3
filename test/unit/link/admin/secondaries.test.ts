import { describe, expect, test } from 'vitest'
import {
  type ClusterRevocation,
  listSecondaries,
  makeRevocationChanges,
} from '../../../../shared/link/admin/secondaries.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'

const one = '11111111-1111-4111-8111-111111111111'
const two = '22222222-2222-4222-8222-222222222222'

const item = (id: string, more: Partial<Secondary> = {}): Item<'secondary'> => ({
  ...key('secondary', id),
  rev: `rev of ${id}`,
  data: {
    id,
    createdAt: 0,
    expires: 0,
    jti: '',
    lastCallTime: 0,
    address: '',
    apiAddress: '',
    version: '',
    epoch: 'e',
    ...more,
  },
})
const written = (changes: readonly Change[]) =>
  changes.map(change => (change.kind === 'put' ? `${change.key.kind} ${change.key.sk}` : 'something else'))

test('secondaries are listed in the order of their tokens, used or not, without revoked ones', () => {
  const all = [
    item('c', { createdAt: 3 }),
    item('b', { createdAt: 2, revokedAt: 9 }),
    item('z', { createdAt: 1 }),
    item('a', { createdAt: 3 }),
  ]
  expect(listSecondaries(all, { epoch: 'e' }).map(({ id }) => id)).toEqual(['z', 'a', 'c'])
})

describe('revoking secondaries of a primary', () => {
  const all = [
    item('west', { cluster: one }),
    item('west-again', { cluster: one }),
    item('east', { cluster: two }),
    item('unused'),
    item('gone', { cluster: two, revokedAt: 5 }),
  ]

  const items = { secondaries: all, holders: [] }
  const revoked = (what: Partial<ClusterRevocation>) =>
    makeRevocationChanges({ name: '', ...what }, items, { at: 100, as: { epoch: 'e' } })

  test('a revocation revokes the cluster that used the token, under all names of that cluster, and no other cluster', () => {
    const changes = revoked({ admission: all[0], cluster: one })
    expect(written(changes)).toEqual(['secondary west', 'secondary west-again', `holder ${one}`])
    expect(changes[0]).toMatchObject({ data: { revokedAt: 100 }, expected: { rev: 'rev of west' } })
  })

  test('revoking an unused token revokes only that token', () => {
    expect(written(revoked({ admission: all[3] }))).toEqual(['secondary unused'])
  })

  test('revoking a cluster without an admission revokes the cluster under its own name', () => {
    const unknown = one.replaceAll('1', '3')
    const changes = revoked({ cluster: unknown, name: 'north' })
    expect(written(changes)).toEqual([`holder ${unknown}`])
    expect(changes[0]).toMatchObject({ data: { name: 'north', revoked: { at: 100, epoch: 'e' } } })
  })
})
