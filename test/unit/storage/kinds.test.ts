import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { listEncryptedKinds, renewableKeys } from '../../../shared/storage/encrypted-kinds.ts'
import type { ReencryptionRule } from '../../../shared/storage/encrypted-paths.ts'
import { type Kind, key, kinds, type Partitions, partitions, specOf } from '../../../shared/storage/kinds.ts'
import { keyOfKind } from '../../support/tables/items.ts'

const anyPartitions = partitions as unknown as (kind: Kind, ...owner: string[]) => Partitions

/** One key of each kind, as owner and name demand. */
const samples = (Object.keys(kinds) as Kind[]).map(kind => {
  const { pk, sk } = specOf(kind)
  const parts = [...(typeof pk === 'string' ? [] : ['owner']), ...(sk === undefined ? ['name'] : [])]
  return [kind, parts, keyOfKind(kind, ...parts)] as const
})

describe('where items stand', () => {
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
  ])('a $kind stands at $1, under the name $2', ({ pk, sk }, wantedPk, wantedSk) =>
    expect([pk, sk]).toEqual([wantedPk, wantedSk]),
  )

  test('no two kinds share a place', () => {
    const places = samples.map(([kind, , { pk, sk }]) => `${specOf(kind).table} ${pk} ${sk}`)
    expect(new Set(places).size).toBe(places.length)
  })

  test.each(samples)('a %s is in the partitions that are listed for it', (kind, parts, { pk }) => {
    const owner = typeof specOf(kind).pk === 'string' ? [] : parts.slice(0, 1)
    expect(anyPartitions(kind, ...owner).pks).toContain(pk)
  })

  test('what is spread stands in sixteen partitions, by its name alone', () => {
    const { pks } = partitions('access', 'auth_1')
    expect(pks).toHaveLength(16)
    expect(key('access', 'auth_1', 'i-1')).toEqual(key('access', 'auth_1', 'i-1'))
    fc.assert(fc.property(fc.string(), name => pks.includes(key('access', 'auth_1', name).pk)))
    const used = new Set(Array.from({ length: 500 }, (_, index) => key('access', 'auth_1', `i-${index}`).pk))
    expect(used.size).toBe(16)
  })

  test('what stands in a collection of an owner says what takes it along', () => {
    const owned = samples.map(([kind]) => kind).filter(kind => typeof specOf(kind).pk !== 'string')
    expect(owned.filter(kind => specOf(kind).goesWith === undefined)).toEqual([])
  })

  test('owners are kept apart', () => {
    for (const [kind, parts, place] of samples) {
      if (typeof specOf(kind).pk === 'string') continue
      const other = keyOfKind(kind, 'another', ...parts.slice(1))
      expect(other.pk).not.toBe(place.pk)
    }
  })
})

describe('what follows from a kind', () => {
  const rowsWith = (wanted: (kind: Kind) => boolean) => (Object.keys(kinds) as Kind[]).filter(wanted).sort()

  // that no encrypted place lacks a row, and no row its place, is checked by the compiler: `EncryptedColumn`
  test('every encrypted place says what becomes of it when another term encrypts', () => {
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

  test('what is made anew has one place, in the table of the cluster', () => {
    expect(renewableKeys).toEqual([key('token-key'), key('pending-key')])
    for (const { kind } of renewableKeys) expect(specOf(kind).table).toBe('cluster')
  })

  test('tokens, attempts and resolved principals die, entries of lists are swept', () => {
    expect(rowsWith(kind => specOf(kind).expiry === 'dies')).toEqual([
      'ceremony',
      'rekey',
      'resolved-principals',
      'token',
      'watcher',
      'wrapped',
    ])
    expect(rowsWith(kind => specOf(kind).expiry === 'swept')).toEqual(['access', 'deny'])
  })

  test('what no copy may be made of is alone in a table', () => {
    expect(rowsWith(kind => specOf(kind).table === 'ceremony')).toEqual([
      'ceremony',
      'operation-token',
      'rekey',
      'watcher',
    ])
  })

  test('what a secondary must not have is in the table of the cluster', () => {
    expect(rowsWith(kind => specOf(kind).table === 'cluster')).toEqual(
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
      // it says of which key nobody may know yet: without it, whoever takes over could not finish a rotation
      'rotation',
    ] as const)
      expect(specOf(kind).table).toBe('data')
  })
})
