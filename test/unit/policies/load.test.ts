import { describe, expect, test } from 'vitest'
import type { Capability } from '../../../shared/model/policy.ts'
import { capabilitiesOnPath, permitsRequest } from '../../../shared/policies/access.ts'
import { compileAcl } from '../../../shared/policies/load.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { item } from '../../support/tables/items.ts'

const stored = (name: string, text: string): Item<'policy'> => item(key('policy', name), { text }, 'r')

describe('built-in policies', () => {
  test('root permits everything', () => {
    const rights = compileAcl(['root'], [undefined])
    expect(rights.root).toBe(true)
    expect(permitsRequest(rights, { path: 'sys/auth/x', capability: 'delete', sudo: true })).toBe(true)
  })

  test('a stored policy named root does not restrict root', () => {
    expect(compileAcl(['root'], [stored('root', 'path "*" { policy = "deny" }')]).root).toBe(true)
  })

  test.each<[path: string, expected: Capability[]]>([
    ['auth/token/lookup-self', ['read']],
    ['auth/token/renew-self', ['update']],
    ['auth/token/revoke-self', ['update']],
    ['sys/capabilities-self', ['update']],
    ['sys/internal/ui/resultant-acl', ['read']],
    ['sys/wrapping/wrap', ['update']],
    ['sys/wrapping/lookup', ['update']],
    ['sys/wrapping/unwrap', ['update']],
    ['auth/token/lookup', ['deny']],
    ['auth/token/create', ['deny']],
    ['auth/cloud/role/dev', ['deny']],
    ['sys/policies/acl/default', ['deny']],
  ])('the default policy on %s: %j', (path, expected) => {
    expect(capabilitiesOnPath(compileAcl(['default'], [undefined]), path)).toEqual(expected)
  })

  test('an administrator may replace the default policy', () => {
    const rights = compileAcl(['default'], [stored('default', 'path "a" { capabilities = ["read"] }')])
    expect(capabilitiesOnPath(rights, 'a')).toEqual(['read'])
    expect(capabilitiesOnPath(rights, 'auth/token/lookup-self')).toEqual(['deny'])
  })

  test('without the default policy, lookup-self is denied', () => {
    expect(capabilitiesOnPath(compileAcl([], []), 'auth/token/lookup-self')).toEqual(['deny'])
  })
})

describe('policies of a token', () => {
  test('policies are matched by name in any order, and unknown names permit nothing', () => {
    const items = [
      undefined,
      stored('b', 'path "b" { policy = "read" }'),
      stored('a', 'path "a" { policy = "deny" }'),
    ]
    const rights = compileAcl(['a', 'b', 'nobody'], items)
    expect(['a', 'b', 'c'].map(path => capabilitiesOnPath(rights, path))).toEqual([
      ['deny'],
      ['list', 'read'],
      ['deny'],
    ])
  })

  test('a policy that the token does not name has no effect', () => {
    expect(compileAcl(['a'], [stored('b', 'path "b" { policy = "read" }')]).rules).toEqual([])
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the policy name %s is unknown',
    name => {
      expect(compileAcl([name], [undefined])).toEqual({ root: false, rules: [] })
    },
  )

  test('merged policies are cached up to a limit', () => {
    const rulesOf = (...paths: string[]) => {
      const names = paths.map((_, index) => `p${index}`)
      const items = paths.map((path, index) => stored(`p${index}`, `path "${path}" { policy = "read" }`))
      return compileAcl(names, items).rules
    }
    const first = rulesOf('u/1', 'u/2')
    expect(rulesOf('u/1', 'u/2')).toBe(first)
    expect(rulesOf('u/1', 'u/3').map(rule => rule.path)).toEqual(['u/1', 'u/3'])
    expect(rulesOf('u/2').map(rule => rule.path)).toEqual(['u/2'])
    const many = (name: string) =>
      stored('p', Array.from({ length: 8_000 }, (_, index) => `path "${name}/${index}" {}`).join('\n'))
    for (const name of ['a', 'b', 'c']) expect(compileAcl(['p'], [many(name)]).rules).toHaveLength(8_000)
    expect(rulesOf('u/1', 'u/2')).toEqual(first)
    expect(rulesOf('u/1', 'u/2')).not.toBe(first)
  })

  test('parsed policies are cached up to a limit (CVE-2023-5954)', () => {
    const policy = (path: string) => compileAcl(['p'], [stored('p', `path "${path}" { policy = "read" }`)])
    const parsed = () => policy('x').rules[0]?.capabilities
    const first = parsed()
    expect(first).toBe(parsed())
    expect(policy('y').rules.map(rule => rule.path)).toEqual(['y'])
    expect(parsed()).toBe(first)
    // loads more policies than the cache holds
    for (let index = 0; index < 50; index++) {
      const path = `${'x'.repeat(100_000)}${index}`
      expect(policy(path).rules.map(rule => rule.path)).toEqual([path])
    }
    expect(policy('x').rules.map(rule => rule.path)).toEqual(['x'])
    expect(parsed()).not.toBe(first)
  })
})
