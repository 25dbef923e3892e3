import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Capability, capabilities } from '../../../shared/model/policy.ts'
import { capabilitiesOnPath, noAccessAcl, permitsRequest } from '../../../shared/policies/access.ts'
import { access, parameter, type Short } from './support.ts'

const YES = true
const NO = false

describe('one rule and one path', () => {
  test.each<[rule: string, path: string, allowed: boolean]>([
    ['a/b', 'a/b', YES],
    ['a/b', 'a/b/', NO],
    ['a/b', 'a/bc', NO],
    ['a/b', 'A/b', NO],
    ['a/', 'a/', YES],
    ['a/*', 'a/', YES],
    ['a/*', 'a/b/c', YES],
    ['a/*', 'a', NO],
    ['a*', 'a', YES],
    ['a*', 'ab/c', YES],
    ['a*', 'b', NO],
    ['*', '', YES],
    ['*', 'a/b', YES],
    ['+', 'a', YES],
    ['+', 'a/b', NO],
    ['+/b', 'a/b', YES],
    ['+/b', '/b', NO],
    ['a/+/c', 'a/b/c', YES],
    ['a/+/c', 'a//c', NO],
    ['a/+/c', 'a/b/b/c', NO],
    ['a/+/c', 'a/b/c/d', NO],
    ['a/+', 'a/b', YES],
    ['a/+', 'a/', NO],
    ['a/+/c*', 'a/b/cd/e', YES],
    ['a/+/*', 'a/b/', YES],
    ['a/+/*', 'a/b', NO],
    ['+/+/c', 'a/b/c', YES],
    ['a.b', 'aXb', NO],
  ])('the rule %s permits reading the path %s: %s', (rule, path, allowed) => {
    expect(permitsRequest(access({ [rule]: 'read' }), { path, capability: 'read' })).toBe(allowed)
  })

  test('a pattern matches the same paths as the equivalent regular expression', () => {
    const segment = fc.constantFrom('a', 'b', 'ab', '')
    const pattern = fc
      .tuple(fc.array(fc.oneof(segment, fc.constant('+')), { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([parts, open]) => parts.join('/') + (open && parts.at(-1) !== '+' ? '*' : ''))
    const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map(parts => parts.join('/'))
    fc.assert(
      fc.property(pattern, path, (rule, wanted) => {
        fc.pre(!rule.startsWith('/'))
        const source = rule.replace(/\*$/, '.*').replace(/(?<=^|\/)\+(?=$|\/)/g, '[^/]+')
        const covered = new RegExp(`^${source}$`).test(wanted)
        expect(permitsRequest(access({ [rule]: 'read' }), { path: wanted, capability: 'read' })).toBe(covered)
      }),
      { numRuns: 1000 },
    )
  })

  test.each(capabilities.filter(one => one !== 'deny'))(
    'the capability %s permits only itself',
    capability => {
      const rights = access({ a: capability })
      const allowed = capabilities.filter(one => permitsRequest(rights, { path: 'a', capability: one }))
      expect(allowed).toEqual([capability])
    },
  )

  test('deny permits nothing, even next to other capabilities', () => {
    const rights = access({ a: 'read deny sudo' })
    expect(capabilities.filter(one => permitsRequest(rights, { path: 'a', capability: one }))).toEqual([])
    expect(capabilitiesOnPath(rights, 'a')).toEqual(['deny'])
  })

  test('no rule means no access, and the root policy permits everything', () => {
    const attempt = { path: 'a', capability: 'delete', sudo: true } as const
    expect(permitsRequest(noAccessAcl, attempt)).toBe(false)
    expect(permitsRequest({ root: true, rules: [] }, attempt)).toBe(true)
    expect(capabilitiesOnPath(noAccessAcl, 'a')).toEqual(['deny'])
    expect(capabilitiesOnPath({ root: true, rules: [] }, 'a')).toEqual(['root'])
  })

  test.each<[rule: string, sudo: boolean, allowed: boolean]>([
    ['update', true, NO],
    ['sudo', true, NO],
    ['update sudo', true, YES],
    ['update', false, YES],
    ['sudo', false, NO],
  ])('capabilities %s on a path whose operation requires sudo %s', (rule, sudo, allowed) => {
    expect(permitsRequest(access({ a: rule }), { path: 'a', capability: 'update', sudo })).toBe(allowed)
  })
})

describe('several policies', () => {
  test.each<[name: string, policies: Short[], expected: Capability[]]>([
    ['the same path adds up', [{ 'a/*': 'read' }, { 'a/*': 'list' }], ['list', 'read']],
    [
      'in any number',
      [{ 'a/*': 'read' }, { 'a/*': 'list' }, { 'a/*': 'update' }],
      ['list', 'read', 'update'],
    ],
    ['deny clears the others', [{ 'a/*': 'read' }, { 'a/*': 'deny' }], ['deny']],
    ['whichever comes first', [{ 'a/*': 'deny' }, { 'a/*': 'read sudo' }], ['deny']],
    ['another path text is another rule', [{ 'a/b': 'read' }, { 'a/*': 'list' }], ['read']],
    ['even a closed path', [{ 'a/b': {} }, { 'a/*': 'list' }], ['deny']],
  ])('%s', (_, policies, expected) => {
    expect(capabilitiesOnPath(access(...policies), 'a/b')).toEqual(expected)
  })

  test('tens of thousands of rules for one path are merged', () => {
    const policies = Array.from({ length: 10_000 }, (_, index) => ({
      a: {
        capabilities: ['update'],
        allowed_parameters: { [`p${index}`]: [index] },
        min_wrapping_ttl: index + 1,
      },
    }))
    const rights = access(...policies)
    expect(rights.rules).toHaveLength(1)
    const attempt = { path: 'a', capability: 'update', wrapTtl: 1 } as const
    expect(permitsRequest(rights, { ...attempt, parameters: [parameter('p9999', 9999)] })).toBe(true)
    expect(permitsRequest(rights, { ...attempt, parameters: [parameter('p9999', 1)] })).toBe(false)
  })
})

describe('priority of patterns', () => {
  test.each<[path: string, winner: string, loser: string, why: string]>([
    ['a/b', 'a/b', 'a/*', 'exact over prefix'],
    ['a/b', 'a/b', 'a/+', 'exact over segment'],
    ['a/b', 'a/b', '*', 'exact over everything'],
    ['a/b/c', 'a/b/*', 'a/*', 'the later wildcard'],
    ['a/b/c', 'a/b/*', 'a/+/c', 'the later wildcard, whatever it is'],
    ['a/b/c', 'a/b/+', 'a/+/c', 'the later of two segments'],
    ['a/b/c', 'a/+/c', 'a/*', 'at the same place: no final star'],
    ['a/b/c', 'a/+/+', 'a/*', 'no final star, though more segments'],
    ['a/b/c', 'a/+/c', 'a/+/*', 'no final star'],
    ['a/b/c', 'a/+/+', 'a/+/c*', 'no final star, though more segments and shorter'],
    ['a/b/c/d', 'a/+/c/d', 'a/+/+/d', 'fewer segments'],
    ['a/b/!', 'a/+/!', 'a/+/+', 'fewer segments, though lexicographically smaller'],
    ['a/b/c/d', 'a/+/*', 'a/+/+/*', 'fewer segments, though shorter'],
    ['a/b/c/d', 'a/+/c/*', 'a/+/+/*', 'fewer segments before a star'],
    ['a/b/!c', 'a/+/!*', 'a/+/*', 'the longer one, though lexicographically smaller'],
  ])('on %s, %s wins over %s: %s', (path, winner, loser) => {
    const policies: Short[] = [{ [winner]: 'read' }, { [loser]: 'deny' }]
    for (const order of [policies, policies.toReversed()]) {
      expect(permitsRequest(access(...order), { path, capability: 'read' })).toBe(true)
    }
  })

  test('of two otherwise equal patterns the lexicographically greater wins', () => {
    const rights = access({ 'a/+/c/+': 'read', 'a/+/+/d': 'deny' })
    expect(permitsRequest(rights, { path: 'a/b/c/d', capability: 'read' })).toBe(true)
  })

  test('the order of the rules has no effect', () => {
    const patterns = ['*', 'a*', 'a/*', 'a/+', '+/b', 'a/+/c', 'a/+/*', 'a/b', 'a/b/*', '+/+/+', 'a/b/c*']
    // each pattern has its own set of capabilities
    const words = ['create', 'read', 'update', 'delete'] as const
    const rules = patterns.map((path, index) => ({
      [path]: { capabilities: words.filter((_, bit) => (index + 1) & (1 << bit)) },
    }))
    const some = fc.shuffledSubarray(rules, { minLength: 1 })
    const path = fc.constantFrom('a', 'a/b', 'a/b/c', 'a/', 'a/b/', 'x/y/z')
    fc.assert(
      fc.property(some, path, (order, wanted) => {
        const found = capabilitiesOnPath(access(...order), wanted)
        expect(capabilitiesOnPath(access(...order.toReversed()), wanted)).toEqual(found)
        expect(capabilitiesOnPath(access(...order.toSorted()), wanted)).toEqual(found)
      }),
    )
  })
})

describe('deny ignores ASCII case: CVE-2026-93335', () => {
  const everything = { '*': 'read list sudo' }
  test.each<[deny: string, path: string, denied: boolean]>([
    ['secret/example', 'secret/EXAMPLE', YES],
    ['secret/EXAMPLE', 'secret/example', YES],
    ['secret/example', 'Secret/Example', YES],
    ['SECRET/+/Key', 'secret/a/KEY', YES],
    ['secret/ex*', 'SECRET/EXAMPLE/a', YES],
    ['secret/example', 'secret/examples', NO],
    ['secret/ex*', 'secret/e', NO],
    // policies ignore the case of ASCII letters only
    ['secret/ſ', 'secret/s', NO],
    ['secret/é', 'secret/É', NO],
  ])('a deny rule on %s and a request for %s: %s', (rule, path, denied) => {
    for (const order of [
      [everything, { [rule]: 'deny' }],
      [{ [rule]: 'deny' }, everything],
    ]) {
      const rights = access(...order)
      for (const capability of ['read', 'list'] as const)
        expect(permitsRequest(rights, { path, capability })).toBe(!denied)
      expect(capabilitiesOnPath(rights, path).includes('deny')).toBe(denied)
    }
  })

  test.each<[rules: Short, path: string, allowed: boolean]>([
    // of two matching rules, the rule with higher precedence decides
    [{ 'secret/EXAMPLE': 'read', 'secret/*': 'deny' }, 'secret/EXAMPLE', YES],
    [{ 'Secret/ex*': 'read', 'secret/*': 'deny' }, 'Secret/example', YES],
    [{ 'Secret/*': 'read', 'secret/ex*': 'deny' }, 'Secret/example', NO],
    // of two rules that differ only in case, deny wins
    [{ 'secret/EXAMPLE': 'read', 'secret/example': 'deny' }, 'secret/EXAMPLE', NO],
    [{ 'Secret/*': 'read', 'secret/*': 'deny' }, 'Secret/a', NO],
  ])('the rules %j on %s: %s', (rules, path, allowed) => {
    expect(permitsRequest(access(rules), { path, capability: 'read' })).toBe(allowed)
  })

  test('permissions are case-sensitive', () => {
    const rights = access({ 'secret/example': 'read', 'other/*': 'deny' })
    expect(permitsRequest(rights, { path: 'secret/EXAMPLE', capability: 'read' })).toBe(false)
    expect(permitsRequest(rights, { path: 'secret/example', capability: 'read' })).toBe(true)
  })

  test.each<[Short, string]>([
    [{ 'a/+/*': 'deny', 'a/B': 'list' }, 'A/*'],
    [{ 'a/+/*': 'deny', 'a/B': 'list' }, 'a/*'],
    [{ 'a/B*': 'deny', 'a/B/': 'list', 'a/+': 'deny' }, 'a/B*'],
  ])('a listing denied by %j stays denied with more deny rules: %s', (rules, more) => {
    const listing = { path: 'a/B', capability: 'list' } as const
    expect(permitsRequest(access(rules), listing)).toBe(false)
    expect(permitsRequest(access({ ...rules, [more]: 'deny' }), listing)).toBe(false)
  })

  test('ignoring case never permits more', () => {
    const word = fc.constantFrom('a', 'A', 'b', 'B', '+')
    const rule = fc
      .tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '/*'))
      .map(([parts, end]) => parts.join('/') + end)
    const policy = fc.dictionary(rule, fc.constantFrom('read', 'list', 'read list', 'deny'), { minKeys: 1 })
    const path = fc
      .array(fc.constantFrom('a', 'A', 'b', 'B'), { minLength: 1, maxLength: 4 })
      .map(one => one.join('/'))
    fc.assert(
      fc.property(policy, path, (rules, asked) => {
        const folded = access(rules)
        const typed = access(Object.fromEntries(Object.entries(rules).filter(([one]) => covers(one, asked))))
        for (const capability of ['read', 'list'] as const)
          if (permitsRequest(folded, { path: asked, capability }))
            expect(permitsRequest(typed, { path: asked, capability })).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})

/** Reports whether a rule covers a path or its listing, character by character. */
const covers = (rule: string, path: string): boolean =>
  new RegExp(`^${rule.replace(/\*$/, '.*').replace(/\+/g, '[^/]+')}$`).test(path) ||
  new RegExp(`^${rule.replace(/\*$/, '.*').replace(/\+/g, '[^/]*')}$`).test(`${path}/`)
