import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type Endpoint, operationByMethod, pathsOf } from '../../../shared/api/endpoint.ts'
import { normalisePathParameter, pathSpellingOf } from '../../../shared/api/params.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { matchEndpoint } from '../../../shared/http/match.ts'
import type { Acl } from '../../../shared/model/acl.ts'
import { type Capability, capabilities } from '../../../shared/model/policy.ts'
import { capabilitiesOnPath, permitsRequest } from '../../../shared/policies/access.ts'
import { access, type Short } from './support.ts'

const endpoints = endpointGroups.flatMap(group => group.endpoints)
const everything = { name: 'all', endpoints }

const YES = true
const NO = false

describe('a rule applies to every spelling of its path', () => {
  test.each<[rule: string, path: string, covered: boolean]>([
    ['auth/m/role/Prod', 'auth/m/role/prod', YES],
    ['auth/m/role/Prod', 'auth/m/role/Prod', YES],
    ['auth/m/role/prod', 'auth/m/role/PROD', YES],
    ['auth/m/role/P*', 'auth/m/role/prod', YES],
    ['auth/m/role/p*', 'auth/m/role/PROD/tag', YES],
    ['auth/m/role/Prod/*', 'auth/m/role/prod/tag', YES],
    ['auth/m/role/Prod/explain', 'auth/m/role/prod/explain', YES],
    ['auth/+/role/Prod', 'auth/m/role/prod', YES],
    ['+/+/+/Prod', 'auth/m/role/prod', YES],
    ['auth/+/role/Prod/+', 'auth/m/role/prod/tag', YES],
    ['auth/m/role/Prodx', 'auth/m/role/prod', NO],
    ['auth/m/role/Px*', 'auth/m/role/prod', NO],
    ['auth/m/role/ſ', 'auth/m/role/s', NO],
    ['sys/policies/acl/Team', 'sys/policies/acl/team', YES],
    ['sys/policies/acl/T*', 'sys/policies/acl/team', YES],
    ['sys/policy/Team', 'sys/policy/team', YES],
    ['sys/policy/+', 'sys/policy/team', YES],
    ['sys/auth/foo/', 'sys/auth/foo', YES],
    ['sys/auth/foo', 'sys/auth/foo/', YES],
    ['sys/auth/foo/*', 'sys/auth/foo', YES],
    ['sys/auth/+/', 'sys/auth/foo', YES],
    ['sys/mounts/auth/foo/', 'sys/mounts/auth/foo', YES],
    ['sys/audit-hash/any/', 'sys/audit-hash/any', YES],
    ['sys/auth/foo/tune', 'sys/auth/foo', NO],
    ['sys/auth/foo/', 'sys/auth/foobar', NO],
    ['sys/auth/', 'sys/auth', NO],
    ['sys/auth', 'sys/auth/', NO],
    // path segments other than the role's name are case-sensitive
    ['auth/M/role/prod', 'auth/m/role/prod', NO],
    ['auth/m/Role/prod', 'auth/m/role/prod', NO],
    ['auth/m/role/prod/Tag', 'auth/m/role/prod/tag', NO],
    ['auth/m/role/prod/T*', 'auth/m/role/prod/tag', NO],
    ['sys/auth/Foo', 'sys/auth/foo', NO],
    ['auth/m/identity-accesslist/I-1', 'auth/m/identity-accesslist/i-1', NO],
    ['auth/m/identity-accesslist/i-1', 'auth/m/identity-whitelist/i-1', NO],
    ['auth/token/roles/Ci', 'auth/token/roles/ci', NO],
    ['auth/m/config/certificate/A', 'auth/m/config/certificate/a', NO],
    ['auth/m/role/prod', 'auth/m/role/prod/', NO],
  ])('%s on %s: %s', (rule, path, covered) => {
    const rights = access({ [rule]: 'read' })
    expect(permitsRequest(rights, { path, capability: 'read' })).toBe(covered)
    expect(capabilitiesOnPath(rights, path)).toEqual(covered ? ['read'] : ['deny'])
    // deny rules ignore case everywhere
    const denied =
      covered || pathSpellingOf(path).path.toLowerCase() === rule.replace('T*', 'tag').toLowerCase()
    expect(permitsRequest(access({ '*': 'read' }, { [rule]: 'deny' }), { path, capability: 'read' })).toBe(
      !denied,
    )
  })

  test.each<[rules: Short[], path: string, expected: Capability[]]>([
    [[{ 'auth/m/role/Prod': 'read' }, { 'auth/m/role/prod': 'delete' }], 'role/PROD', ['delete', 'read']],
    [[{ 'auth/m/role/Prod': 'read' }, { 'auth/m/role/prod': 'deny' }], 'role/prod', ['deny']],
    [[{ 'auth/m/role/PR*': 'deny' }, { 'auth/m/role/pr*': 'read' }], 'role/prod', ['deny']],
    [[{ 'auth/+/role/PROD': 'update' }, { 'auth/+/role/prod': 'read' }], 'role/prod', ['read', 'update']],
    // the pattern with higher precedence wins in any spelling
    [[{ 'auth/m/role/PRO*': 'read' }, { 'auth/m/role/pr*': 'deny' }], 'role/prod', ['read']],
  ])('equivalent rules are merged, and deny wins: %j on %s', (rules, path, expected) => {
    for (const order of [rules, rules.toReversed()])
      expect(capabilitiesOnPath(access(...order), `auth/m/${path}`)).toEqual(expected)
  })

  test('rules with and without the trailing slash of a mount are equal', () => {
    const rights = access({ 'sys/auth/foo/': 'read' }, { 'sys/auth/foo': 'update' })
    expect(capabilitiesOnPath(rights, 'sys/auth/foo')).toEqual(['read', 'update'])
    expect(capabilitiesOnPath(rights, 'sys/auth/foo/')).toEqual(['read', 'update'])
  })
})

describe('the table of spellings of path parameters', () => {
  const of = (path: string) => endpoints.flatMap(pathsOf).filter(one => one.includes(path))

  test("the table defines the equivalent spellings of each endpoint's path", () => {
    for (const template of endpoints.flatMap(pathsOf)) {
      const parts = template.slice(1).split('/')
      const filled = parts.map(part => (part.startsWith(':') ? 'Some' : part))
      const index = parts.findIndex(
        part => part.startsWith(':') && normalisePathParameter(part.slice(1), 'X') === 'x',
      )
      const slash = normalisePathParameter(parts.at(-1)?.slice(1) ?? '', 'x/') === 'x'
      expect(pathSpellingOf(filled.join('/')), template).toEqual({
        path: filled.map((part, at) => (at === index ? 'some' : part)).join('/'),
        ...(index < 0 ? {} : { caseless: index }),
        slashless: slash || (parts.at(-1) === 'tune' && parts.includes(':method_path')),
      })
    }
    expect(of(':role').length).toBeGreaterThan(2)
    expect(of(':policy_name')).toHaveLength(2 * 3)
    expect(of(':method_path').length).toBeGreaterThan(5)
  })
})

/*
 * The oracle uses no trees or templates: it turns each rule into a regular expression for the one requested
 * path, and sorts the matching rules by the five rules of precedence.
 */
interface Asked {
  parts: string[]
  /** index of the case-insensitive segment */
  folded?: number
  slashless?: boolean
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const anyCase = (text: string) =>
  [...text]
    .map(char => (/[a-z]/i.test(char) ? `[${char.toLowerCase()}${char.toUpperCase()}]` : escaped(char)))
    .join('')

function expressionOf(rule: string, { folded, slashless }: Asked): RegExp {
  const open = rule.endsWith('*')
  const parts = (open ? rule.slice(0, -1) : slashless ? rule.replace(/\/$/, '') : rule).split('/')
  const source = parts
    .map((part, at) => (part === '+' ? '[^/]+' : at === folded ? anyCase(part) : escaped(part)))
    .join('/')
  return new RegExp(`^${source}${open ? '.*' : slashless ? '/?' : ''}$`)
}

function oracle(policy: [rule: string, words: string[]][], asked: Asked): Capability[] {
  const path = asked.parts.join('/')
  const spellings = asked.slashless ? [path, `${path}/`] : [path]
  const meaning = (rule: string) => {
    const bare = asked.slashless && !rule.endsWith('*') ? rule.replace(/\/$/, '') : rule
    return bare
      .split('/')
      .map((part, at) => (at === asked.folded ? part.toLowerCase() : part))
      .join('/')
  }
  const wild = (rule: string) => rule.endsWith('*') || rule.split('/').includes('+')
  const hits = policy.filter(([rule]) => spellings.some(one => expressionOf(rule, asked).test(one)))
  const score = (rule: string): (number | string)[] => [
    wild(rule) ? 0 : 1,
    wild(rule) ? meaning(rule).search(/(?<=^|\/)\+(?=$|\/)|\*$/) : 0,
    rule.endsWith('*') ? 0 : 1,
    -rule.split('/').filter(part => part === '+').length,
    meaning(rule).length,
    meaning(rule),
  ]
  const better = (a: string, b: string) => {
    const [left, right] = [score(a), score(b)]
    const at = left.findIndex((one, index) => one !== right[index])
    return at >= 0 && (left[at] as string) > (right[at] as string)
  }
  const lower = (rule: string) => meaning(rule).toLowerCase()
  const best = (rules: string[]) => rules.sort((a, b) => (better(a, b) ? -1 : better(b, a) ? 1 : 0))[0]
  const closing = best(
    policy
      .filter(([, words]) => words.includes('deny'))
      .map(([rule]) => rule.toLowerCase())
      .filter(rule => spellings.some(one => expressionOf(rule, asked).test(one.toLowerCase()))),
  )
  const first = best(hits.map(([rule]) => rule))
  if (first === undefined) return ['deny']
  if (closing !== undefined && (lower(closing) === lower(first) || better(closing, first))) return ['deny']
  const words = new Set(hits.filter(([rule]) => meaning(rule) === meaning(first)).flatMap(([, all]) => all))
  return words.has('deny') ? ['deny'] : ([...words].sort() as Capability[])
}

describe('random spellings of rules and requests', () => {
  const RUNS = 1000
  const spelt = fc.constantFrom('prod', 'Prod', 'PROD', 'pRoD', 'p', 'P', 'pr', 'other', 'Other')
  const cases: [template: string[], folded?: number | undefined, slashless?: true][] = [
    [['auth', 'm', 'role', ':'], 3],
    [['auth', 'm', 'role', ':', 'tag'], 3],
    [['auth', 'm', 'role', ':', 'explain'], 3],
    [['sys', 'policies', 'acl', ':'], 3],
    [['sys', 'policy', ':'], 2],
    [['sys', 'auth', ':'], undefined, true],
    [['sys', 'auth', ':', 'tune'], undefined, true],
    [['auth', 'm', 'identity-accesslist', ':']],
    [['auth', 'token', 'roles', ':']],
  ]
  const situation = fc.constantFrom(...cases).chain(([template, folded, slashless]) => {
    const part = (text: string) =>
      text === ':'
        ? fc.oneof({ weight: 3, arbitrary: spelt }, { weight: 1, arbitrary: fc.constant('+') })
        : fc.oneof(
            { weight: 6, arbitrary: fc.constant(text) },
            { weight: 1, arbitrary: fc.constantFrom('+', text.toUpperCase()) },
          )
    const rule = fc
      .tuple(
        fc.tuple(...template.map(part)),
        fc.constantFrom('', '', '*', '/', '/*'),
        fc.nat(template.length),
      )
      .map(([parts, end, cut]) => {
        const kept = end.includes('*') ? parts.slice(0, Math.max(1, cut)) : parts
        const text = kept.join('/') + end
        return text.replace(/\+\*$/, '+/*')
      })
    const words = fc.subarray(['read', 'update', 'delete', 'deny'], { minLength: 1 })
    return fc.record({
      policy: fc.array(fc.tuple(rule, words), { minLength: 1, maxLength: 6 }),
      name: spelt,
      asked: fc.constant({
        template,
        ...(folded === undefined ? {} : { folded }),
        ...(slashless ? { slashless } : {}),
      }),
    })
  })

  const rightsOf = (policy: [string, string[]][]): Acl =>
    access(...policy.map(([rule, words]) => ({ [rule]: words.join(' ') })))

  test('the reported capabilities equal an independent result and what is enforced', () => {
    const request = (template: string[], name: string) => template.map(one => (one === ':' ? name : one))
    let denied = 0
    fc.assert(
      fc.property(situation, fc.boolean(), ({ policy, name, asked: { template, ...how } }, slash) => {
        const parts = request(template, name)
        const path = parts.join('/') + (slash && how.slashless ? '/' : '')
        const rights = rightsOf(policy as [string, string[]][])
        const expected = oracle(policy as [string, string[]][], { parts, ...how })
        if (expected[0] === 'deny') denied += 1
        expect(capabilitiesOnPath(rights, path)).toEqual(expected)
        // the path as the router returns it
        const routed = matchEndpoint(everything, 'read', path).path
        for (const word of ['read', 'update', 'delete'] as const)
          expect(permitsRequest(rights, { path: routed, capability: word })).toBe(expected.includes(word))
      }),
      { numRuns: RUNS },
    )
    expect(denied).toBeGreaterThan(RUNS / 10)
    expect(denied).toBeLessThan((RUNS * 9) / 10)
  })

  test('equivalent requests are authorised equally', () => {
    const caseOf = (text: string, upper: boolean[]) =>
      [...text].map((char, at) => (upper[at] ? char.toUpperCase() : char)).join('')
    const row = fc.constantFrom(...endpoints.flatMap(one => pathsOf(one).map(path => [one, path] as const)))
    fc.assert(
      fc.property(
        row,
        situation,
        fc.array(fc.boolean(), { maxLength: 8 }),
        ([one, template], { policy }, upper) => {
          const fill = (name: string) =>
            template
              .slice(1)
              .replace(/:mount/, 'm')
              .replace(/:\w+/g, name)
          const [path, other] = [fill('prod'), fill(caseOf('prod', upper))]
          const operation = operationByMethod[(one as Endpoint).method]
          const [a, b] = [
            matchEndpoint(everything, operation, path),
            matchEndpoint(everything, operation, other),
          ]
          fc.pre(JSON.stringify(a.pathParameters) === JSON.stringify(b.pathParameters))
          const rights = rightsOf(policy as [string, string[]][])
          for (const capability of capabilities)
            expect(permitsRequest(rights, { path: a.path, capability })).toBe(
              permitsRequest(rights, { path: b.path, capability }),
            )
          expect(capabilitiesOnPath(rights, path)).toEqual(capabilitiesOnPath(rights, other))
        },
      ),
      { numRuns: RUNS / 2 },
    )
  })
})

describe('the cost of authorising paths', () => {
  const comparisons = (work: () => void): number => {
    const spy = vi.spyOn(Map.prototype, 'get')
    try {
      work()
      return spy.mock.calls.length
    } finally {
      spy.mockRestore()
    }
  }
  const rules = (count: number): Acl =>
    access(
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          [`auth/m${index}/role/r`, `auth/+/role/r${index}`, `auth/m${index}/*`][index % 3] as string,
          'read',
        ]),
      ),
    )
  const ask = (rights: Acl, count: number) => {
    for (let index = 0; index < count; index++) capabilitiesOnPath(rights, `auth/m${index}/role/r${index}`)
  }

  test('the number of comparisons grows with the paths, not with the rules', () => {
    const [few, many] = [rules(30), rules(30_000)]
    ask(few, 1)
    ask(many, 1)
    const one = comparisons(() => ask(few, 100))
    expect(one).toBeGreaterThan(100)
    expect(comparisons(() => ask(few, 1_000))).toBeLessThanOrEqual(10 * one)
    expect(comparisons(() => ask(many, 100))).toBeLessThanOrEqual(2 * one)
  })

  test('inserting a rule takes a few comparisons per segment', () => {
    const rights = rules(10_000)
    expect(comparisons(() => ask(rights, 1))).toBeLessThan(10_000 * 4 * 4)
  })
})
