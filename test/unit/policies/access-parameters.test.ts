import { describe, expect, test } from 'vitest'
import { type Attempt, type Parameter, permits } from '../../../shared/policies/access.ts'
import { access } from './support.ts'

const named = (values: Record<string, unknown>): Parameter[] =>
  Object.entries(values).map(([name, value]) => ({ names: [name], value }))

const writes = (
  body: Record<string, unknown>,
  parameters: readonly Parameter[],
  more: Partial<Attempt> = {},
) =>
  permits(access({ a: { capabilities: ['update', 'read', 'sudo'], ...body } }), {
    path: 'a',
    capability: 'update',
    parameters,
    ...more,
  })

const allow = (rules: object) => ({ allowed_parameters: rules })
const deny = (rules: object) => ({ denied_parameters: rules })

describe('parameters: auth-behaviour 9.6 (6)', () => {
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
    ['a single star', allow({ x: ['*'] }), { x: '' }, true],
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
  ])('%s', (_, body, sent, allowed) => {
    expect(writes(body, named(sent))).toBe(allowed)
  })

  test.each<[name: string, body: Record<string, unknown>, allowed: boolean]>([
    ['a deny of the current name', deny({ token_policies: [] }), false],
    ['a deny of the old name', deny({ policies: [] }), false],
    ['an allowance of the current name', allow({ token_policies: ['dev'] }), true],
    ['an allowance of the old name', allow({ policies: ['dev'] }), true],
    ['an allowance of another value', allow({ token_policies: ['ops'] }), false],
    ['a requirement of the current name', { required_parameters: ['token_policies'] }, true],
  ])('a deprecated name counts under both of its names: %s', (_, body, allowed) => {
    expect(writes(body, [{ names: ['policies', 'token_policies'], value: 'dev' }])).toBe(allowed)
  })

  test('only writes are held to parameters', () => {
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
  ])('in several policies, %s', (_, policies, sent, allowed) => {
    const rights = access(...policies.map(body => ({ a: { capabilities: ['update'], ...body } })))
    expect(permits(rights, { path: 'a', capability: 'update', parameters: named(sent) })).toBe(allowed)
  })
})

describe('bounds of a requested wrapping', () => {
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
  ])('%o with %s seconds', (body, ttl, allowed) => {
    expect(writes(body, [], ttl === undefined ? {} : { wrapTtl: ttl })).toBe(allowed)
  })

  test.each<[policies: Record<string, unknown>[], ttl: number, allowed: boolean]>([
    [[{ min_wrapping_ttl: 10 }, { min_wrapping_ttl: 20 }], 10, true],
    [[{ min_wrapping_ttl: 20 }, { min_wrapping_ttl: 10 }], 9, false],
    [[{ min_wrapping_ttl: 10 }, {}], 9, false],
    [[{ max_wrapping_ttl: 10 }, { max_wrapping_ttl: 20 }], 20, true],
    [[{ max_wrapping_ttl: 20 }, { max_wrapping_ttl: 10 }], 21, false],
    [[{ max_wrapping_ttl: 10 }, {}], 11, false],
  ])('of several policies the widest that is stated: %o with %i seconds', (policies, ttl, allowed) => {
    const rights = access(...policies.map(body => ({ a: { capabilities: ['update'], ...body } })))
    expect(permits(rights, { path: 'a', capability: 'update', wrapTtl: ttl })).toBe(allowed)
  })
})
