import { describe, expect, test } from 'vitest'
import { capabilitiesOnPath, permitsRequest } from '../../../shared/policies/access.ts'
import { access, type Short } from './support.ts'

const lists = (policies: Short[], path = 'auth/cloud/roles') =>
  permitsRequest(access(...policies), { path, capability: 'list' })

describe('rules for a listing: GHSA-xp3c-3jw3-4vcr', () => {
  test.each<[name: string, allowed: boolean, policy: Short]>([
    ['exact, without slash', true, { 'auth/cloud/roles': 'list' }],
    ['exact, with slash', true, { 'auth/cloud/roles/': 'list' }],
    ['exact without slash over a wider deny', true, { 'auth/cloud/roles': 'list', 'auth/*': 'deny' }],
    ['exact with slash over a wider deny', true, { 'auth/cloud/roles/': 'list', '*': 'deny' }],
    [
      'exact with slash under a deny of the bare path by segments',
      false,
      { 'auth/cloud/roles/': 'list', 'auth/+/roles': 'deny' },
    ],
    [
      'exact without slash over a deny by prefix',
      true,
      { 'auth/cloud/roles': 'list', 'auth/cloud/r*': 'deny' },
    ],
    [
      'exact with slash over what is below',
      true,
      { 'auth/cloud/roles/': 'list', 'auth/cloud/roles/*': 'deny' },
    ],
    [
      'exact without slash under a deny of what is below',
      false,
      { 'auth/cloud/roles': 'list', 'auth/cloud/roles/*': 'deny' },
    ],
    ['exact deny, without slash', false, { 'auth/cloud/roles': 'deny', 'auth/cloud/*': 'list' }],
    ['exact deny, with slash', false, { 'auth/cloud/roles/': 'deny', 'auth/cloud/*': 'list' }],
    [
      'deny on the spelling without slash',
      false,
      { 'auth/cloud/roles': 'deny', 'auth/cloud/roles/': 'list' },
    ],
    ['deny on the spelling with slash', false, { 'auth/cloud/roles': 'list', 'auth/cloud/roles/': 'deny' }],
    [
      'exact without list over a wildcard with it',
      false,
      { 'auth/cloud/roles': 'read', 'auth/cloud/*': 'list' },
    ],
    [
      'with slash before without: no list',
      false,
      { 'auth/cloud/roles/': 'read', 'auth/cloud/roles': 'list' },
    ],
    ['with slash before without: list', true, { 'auth/cloud/roles/': 'list', 'auth/cloud/roles': 'read' }],
    ['a wildcard', true, { 'auth/cloud/*': 'list' }],
    ['a wildcard that covers only the slash', true, { 'auth/cloud/roles/*': 'list' }],
    ['a wildcard that covers only the bare path', true, { 'auth/cloud/+': 'list' }],
    ['the best wildcard denies', false, { 'auth/*': 'list', 'auth/cloud/*': 'deny' }],
    ['the best wildcard allows, a lesser one denies', true, { 'auth/*': 'deny', 'auth/cloud/*': 'list' }],
    ['the best covers the slash and denies', false, { 'auth/cloud/*': 'list', 'auth/cloud/roles/*': 'deny' }],
    ['the best covers the bare path and denies', false, { 'auth/*': 'list', 'auth/cloud/+': 'deny' }],
    [
      'the best covers the bare path and allows, the spelling with slash is denied',
      false,
      { 'auth/*': 'deny', 'auth/cloud/+': 'list' },
    ],
    [
      'a better wildcard for the slash over a wider deny',
      true,
      { 'auth/*': 'deny', 'auth/cloud/roles/*': 'list' },
    ],
    ['a segment that is empty', true, { 'auth/cloud/roles/+': 'list' }],
    ['a deny of a segment that is empty', false, { 'auth/cloud/*': 'list', 'auth/cloud/roles/+': 'deny' }],
    [
      'a deny of a segment that is empty under exact without slash',
      false,
      { 'auth/cloud/roles': 'list', 'auth/cloud/roles/+': 'deny' },
    ],
    [
      'a deny of a segment that is empty, among segments',
      false,
      { 'auth/*': 'list', 'auth/+/roles/+': 'deny' },
    ],
    [
      'exact with slash over a deny of a segment that is empty',
      true,
      { 'auth/cloud/roles/': 'list', 'auth/cloud/roles/+': 'deny' },
    ],
    ['a deny of two segments below', true, { 'auth/cloud/*': 'list', 'auth/cloud/roles/+/+': 'deny' }],
    ['the best wildcard has no list', false, { 'auth/*': 'list', 'auth/cloud/+': 'read' }],
    ['nothing fits', false, { 'auth/cloud/role': 'list' }],
  ])('%s: %s', (_, allowed, policy) => {
    const single = Object.entries(policy).map(([path, body]) => ({ [path]: body }))
    for (const policies of [[policy], single, single.toReversed()]) {
      expect(lists(policies)).toBe(allowed)
      expect(lists(policies, 'auth/cloud/roles/')).toBe(allowed)
    }
  })

  test.each<[policy: Short, path: string, expected: string[]]>([
    [{ a: 'list read' }, 'a/', ['list']],
    [{ a: 'list read', 'a/+': 'deny' }, 'a', ['read']],
    [{ a: 'list read', 'a/+': 'deny' }, 'a/', ['deny']],
    [{ a: 'read', 'a/': 'list sudo update' }, 'a', ['list', 'read', 'sudo']],
    [{ a: 'list', 'a/*': 'deny' }, 'a/', ['deny']],
    [{ 'a/': 'list' }, 'a/', ['list']],
    [{ 'a/': 'list' }, 'a', ['list']],
    [{ 'a/*': 'list' }, 'a/b', ['list']],
  ])(
    'the reported capabilities of %j on %s are the capabilities that are enforced',
    (policy, path, expected) => {
      expect(capabilitiesOnPath(access(policy), path)).toEqual(expected)
    },
  )

  test('operations other than list match only their exact path', () => {
    const rights = access({ 'a/': 'read' }, { b: 'read' }, { 'c/+': 'read' })
    expect(permitsRequest(rights, { path: 'c/', capability: 'read' })).toBe(false)
    expect(permitsRequest(rights, { path: 'a', capability: 'read' })).toBe(false)
    expect(permitsRequest(rights, { path: 'b/', capability: 'read' })).toBe(false)
  })
})
