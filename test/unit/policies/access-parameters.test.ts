import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  boolField,
  durationField,
  findParameter,
  intField,
  listField,
  lowerTextField,
  type ParameterFields,
  textField,
  textMapField,
} from '../../../shared/api/fields.ts'
import { type AccessRequest, permitsRequest } from '../../../shared/policies/access.ts'
import { normalisePolicySet } from '../../../shared/policies/names.ts'
import type { RequestParameter } from '../../../shared/policies/parameters.ts'
import { access, parameter } from './support.ts'

const named = (values: Record<string, unknown>): RequestParameter[] =>
  Object.entries(values).map(([name, value]) => parameter(name, value))

const writes = (
  body: Record<string, unknown>,
  parameters: readonly RequestParameter[],
  more: Partial<AccessRequest> = {},
) =>
  permitsRequest(access({ a: { capabilities: ['update', 'read', 'sudo'], ...body } }), {
    path: 'a',
    capability: 'update',
    parameters,
    ...more,
  })

const allow = (rules: object) => ({ allowed_parameters: rules })
const deny = (rules: object) => ({ denied_parameters: rules })

describe('parameter constraints', () => {
  test.each<[name: string, body: Record<string, unknown>, sent: Record<string, unknown>, allowed: boolean]>([
    ['no rules', {}, { x: 1 }, true],
    ['allowed by name', allow({ x: [] }), { x: 'anything' }, true],
    ['not among the allowed', allow({ x: [] }), { x: 1, y: 1 }, false],
    ['nothing sent', allow({ x: [] }), {}, true],
    ['any other name', allow({ x: ['1'], '*': [] }), { y: 2 }, true],
    ['a listed name is held to its values', allow({ x: ['1'], '*': [] }), { x: '2' }, false],
    ['an allowed value', allow({ x: ['a', 'b'] }), { x: 'b' }, true],
    ['a value of another type', allow({ x: [3600] }), { x: '3600' }, true],
    ['a value with a star at its end', allow({ x: ['a*'] }), { x: 'abc' }, true],
    ['a value with a star at its beginning', allow({ x: ['*c'] }), { x: 'abc' }, true],
    ['a value between stars', allow({ x: ['*b*'] }), { x: 'abc' }, true],
    ['a star in the middle is a star', allow({ x: ['a*c'] }), { x: 'abc' }, false],
    ['a single star', allow({ x: ['*'] }), { x: 'a' }, true],
    ['a single star, and nothing', allow({ x: ['*'] }), { x: '' }, false],
    ['a value that only begins alike', allow({ x: ['ab'] }), { x: 'abc' }, false],
    ['a list', allow({ x: [['a', 'b']] }), { x: ['a', 'b'] }, true],
    ['a list in another order', allow({ x: [['a', 'b']] }), { x: ['b', 'a'] }, false],
    [
      'an object, whatever the order of its keys',
      allow({ x: [{ a: 1, b: [2] }] }),
      { x: { b: [2], a: 1 } },
      true,
    ],
    ['a name in capitals', allow({ x: [] }), { X: 1 }, true],
    ['denied by name', deny({ x: [] }), { x: 1 }, false],
    ['denied in capitals', deny({ x: [] }), { X: 1 }, false],
    ['another name than the denied', deny({ x: [] }), { y: 1 }, true],
    ['a denied value', deny({ x: ['a*'] }), { x: 'abc' }, false],
    ['a value that is not denied', deny({ x: ['a*'] }), { x: 'b' }, true],
    [
      'a denied object, whatever the order of its keys',
      deny({ x: [{ a: 1, b: 2 }] }),
      { x: { b: 2, a: 1 } },
      false,
    ],
    ['every parameter denied', deny({ '*': [] }), { x: 1 }, false],
    ['every parameter denied, none sent', deny({ '*': [] }), {}, true],
    ['denied beats allowed', { ...allow({ x: [] }), ...deny({ x: [] }) }, { x: 1 }, false],
    ['required and sent', { required_parameters: ['x'] }, { x: null }, true],
    ['required and missing', { required_parameters: ['x'] }, { y: 1 }, false],
    ['required, sent in capitals, which no field is called', { required_parameters: ['x'] }, { X: 1 }, false],
    ['required in capitals', { required_parameters: ['X'] }, { x: 1 }, true],
    ['names of prototypes', allow({ x: [] }), JSON.parse('{"__proto__": 1}'), false],
    ['a constructor', allow({ x: [] }), { constructor: 1 }, false],
    [
      'a denied name of a prototype',
      deny(JSON.parse('{"__proto__": []}')),
      JSON.parse('{"__proto__": 1}'),
      false,
    ],
  ])('%s: allowed $3', (_, body, sent, allowed) => {
    expect(writes(body, named(sent))).toBe(allowed)
  })

  test.each<[name: string, body: Record<string, unknown>, allowed: boolean]>([
    ['a deny of the current name', deny({ token_policies: [] }), false],
    ['a deny of the old name', deny({ policies: [] }), false],
    ['an allowance of the current name', allow({ token_policies: ['dev'] }), true],
    ['an allowance of the old name', allow({ policies: ['dev'] }), true],
    ['an allowance of another value', allow({ token_policies: ['ops'] }), false],
    ['a requirement of the current name', { required_parameters: ['token_policies'] }, true],
  ])('a constraint applies to the current and the deprecated name: %s, allowed $2', (_, body, allowed) => {
    expect(writes(body, [{ ...parameter('policies', 'dev'), names: ['policies', 'token_policies'] }])).toBe(
      allowed,
    )
  })

  test('only writes are checked against parameter constraints', () => {
    const rules = deny({ '*': [] })
    expect(writes(rules, named({ x: 1 }), { capability: 'read' })).toBe(true)
    expect(writes(rules, named({ x: 1 }), { capability: 'update' })).toBe(false)
  })

  test.each<
    [name: string, policies: Record<string, unknown>[], sent: Record<string, unknown>, allowed: boolean]
  >([
    ['values add up', [allow({ x: ['1'] }), allow({ x: ['2'] })], { x: '2' }, true],
    ['the first ones stay', [allow({ x: ['1'] }), allow({ x: ['2'] })], { x: '1' }, true],
    ['every value swallows some', [allow({ x: ['1'] }), allow({ x: [] })], { x: '3' }, true],
    [
      'and stays, in another order',
      [allow({ x: [] }), allow({ x: ['1'] }), allow({ x: ['2'] })],
      { x: '3' },
      true,
    ],
    ['names add up', [allow({ x: [] }), allow({ y: [] })], { x: 1, y: 1 }, true],
    ['denials add up', [deny({ x: [] }), deny({ y: [] })], { y: 1 }, false],
    ['a denial in one counts in all', [deny({ x: ['1'] }), allow({ x: [] })], { x: '1' }, false],
    [
      'requirements add up',
      [{ required_parameters: ['x'] }, { required_parameters: ['y'] }],
      { x: 1 },
      false,
    ],
  ])('several policies, %s: allowed $3', (_, policies, sent, allowed) => {
    const rights = access(...policies.map(body => ({ a: { capabilities: ['update'], ...body } })))
    expect(permitsRequest(rights, { path: 'a', capability: 'update', parameters: named(sent) })).toBe(allowed)
  })
})

describe('constraints compare values in their stored form', () => {
  const fields: ParameterFields = {
    tags: listField(''),
    token_policies: listField('', { counts: normalisePolicySet }),
    policies: listField('', { replacedBy: 'token_policies', counts: normalisePolicySet }),
    token_ttl: durationField(''),
    ttl: durationField('', { replacedBy: 'token_ttl', formerly: 'lease' }),
    cert: textField('', { formerly: 'old_cert' }),
    kind: lowerTextField(''),
    uses: intField(''),
    flag: boolField(''),
    meta: textMapField(''),
  }
  const sends = (rules: Record<string, unknown>, sent: Record<string, unknown>) =>
    writes(
      rules,
      Object.entries(sent).map(([name, value]) => ({ ...findParameter(fields, name), value })),
    )

  const same: [name: string, listed: unknown[], sent: Record<string, unknown>[]][] = [
    [
      'tags',
      ['ops'],
      [{ tags: 'ops' }, { tags: ['ops'] }, { tags: ' ops , ' }, { tags: ['ops', 'ops', ''] }],
    ],
    ['tags', [7], [{ tags: 7 }, { tags: '7' }, { tags: [7] }]],
    ['tags', ['o*s'], [{ tags: 'o*s' }]],
    [
      'tags',
      ['a,b'],
      [{ tags: 'a,b' }, { tags: ['a', 'b'] }, { tags: ' a ,, b' }, { tags: ['a', ' b ', 'a'] }],
    ],
    ['tags', [['a', 'b']], [{ tags: 'a,b' }, { tags: ['a', 'b'] }]],
    ['tags', [''], [{ tags: '' }, { tags: [] }, { tags: null }, { tags: ' , ' }]],
    ['tags', [[]], [{ tags: '' }, { tags: [] }, { tags: null }]],
    [
      'token_policies',
      ['Ops'],
      [{ token_policies: 'OPS' }, { policies: ['ops '] }, { policies: 'ops' }, { token_policies: ['oPs'] }],
    ],
    ['token_policies', ['*OP*'], [{ token_policies: 'devops' }, { policies: ['DevOps'] }]],
    ['token_policies', [['b', 'A']], [{ policies: 'a,b' }, { token_policies: ['B', 'a'] }]],
    ['policies', ['ops'], [{ token_policies: 'ops' }, { policies: 'ops' }]],
    ['token_ttl', ['1h'], [{ token_ttl: 3600 }, { ttl: '60m' }, { lease: '3600s' }, { token_ttl: ' 3600 ' }]],
    ['lease', [3600], [{ token_ttl: '1h' }, { ttl: 3600 }]],
    ['token_ttl', ['*'], [{ token_ttl: '1h' }, { lease: 5 }]],
    ['token_ttl', ['1*'], [{ token_ttl: '1h' }, { token_ttl: 10 }]],
    ['cert', ['a'], [{ cert: 'a' }, { old_cert: 'a' }]],
    ['old_cert', ['a'], [{ cert: 'a' }, { old_cert: 'a' }]],
    ['kind', ['EC2'], [{ kind: 'ec2' }, { kind: 'Ec2' }]],
    ['uses', ['0x10'], [{ uses: 16 }, { uses: '16' }, { uses: '0b10000' }]],
    ['flag', [true], [{ flag: 'true' }, { flag: 1 }, { flag: 'T' }]],
    ['meta', [{ a: 1 }], [{ meta: { a: '1' } }, { meta: { a: 1 } }]],
    ['meta', [''], [{ meta: {} }, { meta: null }]],
    ['plain', ['a'], [{ plain: 'a' }, { plain: ['a'] }]],
    ['plain', [5], [{ plain: 5 }, { plain: '5' }]],
  ]

  test.each(same)('every spelling of a value matches: %s of %j', (name, listed, all) => {
    for (const sent of all) {
      expect(sends(deny({ [name]: listed }), sent), JSON.stringify(sent)).toBe(false)
      expect(sends(allow({ [name]: listed }), sent), JSON.stringify(sent)).toBe(true)
    }
  })

  test.each<[name: string, listed: unknown[], sent: Record<string, unknown>]>([
    ['tags', ['ops'], { tags: 'OPS' }],
    ['tags', ['ops'], { tags: 'dev' }],
    ['tags', ['a,b'], { tags: 'a' }],
    ['tags', ['a,b'], { tags: 'b,a' }],
    ['tags', [['a']], { tags: 'b' }],
    ['tags', [{ a: 'b' }], { tags: 'a' }],
    ['tags', ['ops'], { tags: '' }],
    ['tags', [''], { tags: 'ops' }],
    ['token_policies', ['ops'], { policies: 'devops' }],
    ['token_ttl', ['1h'], { ttl: '2h' }],
    ['cert', ['a'], { cert: 'A' }],
    ['cert', [['a']], { cert: 'a' }],
    ['cert', ['a'], { cert: '' }],
    ['meta', ['a'], { meta: { a: 'a' } }],
    ['meta', [{ a: 1 }], { meta: { a: 1, b: 2 } }],
    ['flag', [true], { flag: false }],
    ['plain', ['a'], { plain: { a: 'a' } }],
  ])('the constraint %s of %j does not match the value %j', (name, listed, sent) => {
    expect(sends(deny({ [name]: listed }), sent)).toBe(true)
    expect(sends(allow({ [name]: listed }), sent)).toBe(false)
  })

  test.each<[rules: Record<string, unknown>, sent: Record<string, unknown>, allowed: boolean]>([
    // one denied item of a list is enough to deny the request
    [deny({ tags: ['ops'] }), { tags: 'dev,ops' }, false],
    [deny({ tags: ['ops'] }), { tags: ['dev', ' ops '] }, false],
    [deny({ token_policies: ['*admin*'] }), { policies: 'dev,Cluster-Admins' }, false],
    [deny({ plain: ['a'] }), { plain: ['b', 'a'] }, false],
    // allowed parameters require that every item of a list matches
    [allow({ tags: ['dev'] }), { tags: 'dev,ops' }, false],
    [allow({ tags: ['dev', 'ops'] }), { tags: ['ops', 'dev'] }, true],
    [allow({ tags: ['dev'], token_policies: ['dev'] }), { tags: 'dev', policies: 'DEV' }, true],
    [allow({ policies: ['dev'], token_policies: ['ops'] }), { policies: 'dev,ops' }, true],
    // an entry that is a whole list matches no single item
    [allow({ tags: [['a', 'b']] }), { tags: 'a' }, false],
    [deny({ tags: [['a', 'b']] }), { tags: 'a,b,c' }, true],
    // an empty value is matched only by an empty entry, or by an empty list of entries
    [allow({ tags: ['*'] }), { tags: [] }, false],
    [allow({ tags: [] }), { tags: null }, true],
    [allow({ cert: ['*'] }), { cert: null }, false],
    [allow({ uses: [0] }), { uses: null }, false],
    [allow({ uses: [0] }), { uses: 0 }, true],
    [deny({ uses: [0] }), { uses: null }, false],
    [deny({ tags: ['*'] }), { tags: [] }, false],
    [allow({ token_ttl: ['1h'] }), { token_ttl: null }, false],
    // an unreadable value is rejected by any constraint on its name
    [deny({ token_ttl: ['1h'] }), { token_ttl: 'soon' }, false],
    [deny({ token_ttl: ['1h'] }), { lease: 'soon' }, false],
    [deny({ tags: ['a'] }), { tags: [{}] }, false],
    [allow({ token_ttl: [] }), { ttl: 'soon' }, false],
    [allow({ token_ttl: ['*'] }), { ttl: {} }, false],
    [{ required_parameters: ['ttl'] }, { token_ttl: 'soon' }, false],
    [deny({ tags: ['a'] }), { token_ttl: 'soon' }, true],
    [allow({ '*': [] }), { token_ttl: 'soon' }, true],
    [{}, { token_ttl: 'soon' }, true],
    // a constraint on the deprecated name of a field also applies to the current name
    [deny({ policies: [] }), { token_policies: 'a' }, false],
    [{ required_parameters: ['policies'] }, { token_policies: 'a' }, true],
    [{ required_parameters: ['lease'] }, { token_ttl: 5 }, true],
    [{ required_parameters: ['cert'] }, { tags: 'a' }, false],
  ])('the constraint %j on %j: %s', (rules, sent, allowed) => {
    expect(sends(rules, sent)).toBe(allowed)
  })

  test('no notation of a list bypasses a denied item or an allowed list', () => {
    const name = fc.constantFrom('dev', 'ops', 'admin')
    const blank = fc.constantFrom('', ' ', '\t')
    const written = fc
      .array(fc.tuple(blank, name, fc.boolean(), blank), { minLength: 1, maxLength: 4 })
      .chain(items => {
        const texts = items.map(([a, one, upper, b]) => a + (upper ? one.toUpperCase() : one) + b)
        return fc.record({
          names: fc.constant(items.map(([, one]) => one)),
          field: fc.constantFrom('policies', 'token_policies'),
          value: fc.constantFrom<unknown>(texts, texts.join(','), [...texts, ''], `${texts.join(' ,')},`),
        })
      })
    fc.assert(
      fc.property(written, fc.constantFrom('policies', 'token_policies', 'TOKEN_POLICIES'), (sent, ruled) => {
        const body = { [sent.field]: sent.value }
        expect(sends(deny({ [ruled]: ['Admin'] }), body)).toBe(!sent.names.includes('admin'))
        expect(sends(allow({ [ruled]: ['dev', 'OPS'] }), body)).toBe(!sent.names.includes('admin'))
      }),
    )
  })
})

describe('bounds of a requested wrapping TTL', () => {
  test.each<[body: Record<string, unknown>, ttl: number | undefined, allowed: boolean]>([
    [{ min_wrapping_ttl: '1m' }, undefined, false],
    [{ min_wrapping_ttl: '1m' }, 59, false],
    [{ min_wrapping_ttl: '1m' }, 60, true],
    [{ max_wrapping_ttl: '1m' }, undefined, false],
    [{ max_wrapping_ttl: '1m' }, 60, true],
    [{ max_wrapping_ttl: '1m' }, 61, false],
    [{ min_wrapping_ttl: 5, max_wrapping_ttl: 5 }, 5, true],
    [{}, 5, true],
    [{}, undefined, true],
  ])('the bounds %j with a TTL of %s seconds: allowed %s', (body, ttl, allowed) => {
    expect(writes(body, [], ttl === undefined ? {} : { wrapTtl: ttl })).toBe(allowed)
  })

  test.each<[policies: Record<string, unknown>[], ttl: number, allowed: boolean]>([
    [[{ min_wrapping_ttl: 10 }, { min_wrapping_ttl: 20 }], 10, true],
    [[{ min_wrapping_ttl: 20 }, { min_wrapping_ttl: 10 }], 9, false],
    [[{ min_wrapping_ttl: 10 }, {}], 9, false],
    [[{ max_wrapping_ttl: 10 }, { max_wrapping_ttl: 20 }], 10, true],
    [[{ max_wrapping_ttl: 10 }, { max_wrapping_ttl: 20 }], 11, false],
    [[{ max_wrapping_ttl: 20 }, { max_wrapping_ttl: 10 }], 11, false],
    [[{ max_wrapping_ttl: 10 }, {}], 11, false],
  ])(
    'with several policies the smallest stated bound decides: policies %j, TTL %i s, allowed %s',
    (policies, ttl, allowed) => {
      const rights = access(...policies.map(body => ({ a: { capabilities: ['update'], ...body } })))
      expect(permitsRequest(rights, { path: 'a', capability: 'update', wrapTtl: ttl })).toBe(allowed)
    },
  )
})
