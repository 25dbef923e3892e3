import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { listEncryptedKinds, renewableItemKeys } from '../../../shared/storage/encrypted-kinds.ts'
import type { ReencryptionRule } from '../../../shared/storage/encrypted-paths.ts'
import {
  type ItemPartitions,
  itemKindSpec,
  itemKinds,
  itemPartitions,
  type Kind,
  key,
} from '../../../shared/storage/kinds.ts'
import { keyOfKind } from '../../support/tables/items.ts'

const anyPartitions = itemPartitions as unknown as (kind: Kind, ...owner: string[]) => ItemPartitions

/** One key of each kind of item, with an owner and a name if the kind has them. */
const samples = (Object.keys(itemKinds) as Kind[]).map(kind => {
  const { pk, sk } = itemKindSpec(kind)
  const parts = [...(typeof pk === 'string' ? [] : ['owner']), ...(sk === undefined ? ['name'] : [])]
  return [kind, parts, keyOfKind(kind, ...parts)] as const
})

describe('keys of items', () => {
  test.each([
    [key('role', 'auth_1', 'dev'), 'auth_1#role', 'dev'],
    [key('client-config', 'auth_1'), 'auth_1#config', 'client'],
    [key('identity-config', 'auth_1'), 'auth_1#config', 'identity'],
    [key('token', 'acc'), 'token#acc', 'token'],
    [key('wrapped', 'acc'), 'token#acc', 'wrapped'],
    [key('child', 'acc', 'kid'), 'token#acc', 'kid'],
    [key('policy', 'dev'), 'policy', 'dev'],
    [key('mounts'), 'mounts', 'auth'],
    [key('cluster'), 'cluster', 'record'],
  ])('a $kind has the partition $1 and the sort key $2', ({ pk, sk }, wantedPk, wantedSk) =>
    expect([pk, sk]).toEqual([wantedPk, wantedSk]),
  )

  test('no two kinds share a key', () => {
    const places = samples.map(([kind, , { pk, sk }]) => `${itemKindSpec(kind).table} ${pk} ${sk}`)
    expect(new Set(places).size).toBe(places.length)
  })

  test.each(samples)('a key of kind %s is in the listed partitions of its kind', (kind, parts, { pk }) => {
    const owner = typeof itemKindSpec(kind).pk === 'string' ? [] : parts.slice(0, 1)
    expect(anyPartitions(kind, ...owner).pks).toContain(pk)
  })

  test('spread kinds have sixteen partitions, chosen by name', () => {
    const { pks } = itemPartitions('access', 'auth_1')
    expect(pks).toHaveLength(16)
    expect(key('access', 'auth_1', 'i-1')).toEqual(key('access', 'auth_1', 'i-1'))
    fc.assert(fc.property(fc.string(), name => pks.includes(key('access', 'auth_1', name).pk)))
    const used = new Set(Array.from({ length: 500 }, (_, index) => key('access', 'auth_1', `i-${index}`).pk))
    expect(used.size).toBe(16)
  })

  test('kinds in an owner’s collection name the owner with which they are removed', () => {
    const owned = samples.map(([kind]) => kind).filter(kind => typeof itemKindSpec(kind).pk !== 'string')
    expect(owned.filter(kind => itemKindSpec(kind).goesWith === undefined)).toEqual([])
  })

  test('keys of different owners differ', () => {
    for (const [kind, parts, place] of samples) {
      if (typeof itemKindSpec(kind).pk === 'string') continue
      const other = keyOfKind(kind, 'another', ...parts.slice(1))
      expect(other.pk).not.toBe(place.pk)
    }
  })
})

describe('columns of the table of kinds', () => {
  const rowsWith = (wanted: (kind: Kind) => boolean) =>
    (Object.keys(itemKinds) as Kind[]).filter(wanted).sort()

  // The compiler checks that every encrypted field has a row, and every row a field: `EncryptedColumn`.
  test('every encrypted field has its rule for re-encryption', () => {
    const places = (...sorts: ReencryptionRule[]) =>
      listEncryptedKinds(sorts)
        .flatMap(({ kind, paths }) => paths.map(path => `${kind} ${path}`))
        .toSorted()
    expect(places('reencrypt')).toEqual([
      'access clientNonce',
      'client-config previousSecretKey',
      'client-config secretKey',
      'cluster link.ownKey',
      'role hmacKey',
      'wrapped response',
    ])
    expect(places('renew')).toEqual(['pending-key pair', 'token-key key'])
    expect(places('forget')).toEqual([
      'ceremony attempt.secrets',
      'operation activation.token',
      'pending-link ownKey',
      'rekey attempt.secrets',
      'waiting token',
      'watcher token',
    ])
    expect(places('own-term')).toEqual(['term probe'])
  })

  test('renewable keys have one place, in the cluster table', () => {
    expect(renewableItemKeys).toEqual([key('token-key'), key('pending-key')])
    for (const { kind } of renewableItemKeys) expect(itemKindSpec(kind).table).toBe('cluster')
  })

  test('instances, tokens, used tokens, attempts and resolved principals expire; entries of lists are swept', () => {
    expect(rowsWith(kind => itemKindSpec(kind).expiry === 'dies')).toEqual([
      'ceremony',
      'instance',
      'rekey',
      'resolved-principals',
      'spent',
      'token',
      'watcher',
      'wrapped',
    ])
    expect(rowsWith(kind => itemKindSpec(kind).expiry === 'swept')).toEqual(['access', 'deny'])
  })

  test('kinds that are never copied are alone in the ceremony table', () => {
    expect(rowsWith(kind => itemKindSpec(kind).table === 'ceremony')).toEqual([
      'ceremony',
      'operation-token',
      'rekey',
      'watcher',
    ])
  })

  test('kinds that never leave the cluster are in the cluster table', () => {
    expect(rowsWith(kind => itemKindSpec(kind).table === 'cluster')).toEqual(
      expect.arrayContaining(['cluster', 'keyring', 'tidy-run', 'resolved-principals']),
    )
    for (const kind of [
      'role',
      'token',
      'access',
      'deny',
      'policy',
      'alias',
      'recovery-key',
      'mounts',
      // the item shows which access key may be unknown to AWS; without it, a promoted cluster could not
      // finish a rotation
      'rotation',
    ] as const)
      expect(itemKindSpec(kind).table).toBe('data')
  })
})
