import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { capabilities } from '../../../shared/model/policy.ts'
import { PolicySyntaxError, parsePolicy } from '../../../shared/policies/parse.ts'

/** Returns the parsed rules without empty parts. */
const said = (text: string) =>
  parsePolicy(text).map(rule => ({
    path: rule.path,
    capabilities: [...rule.capabilities].sort(),
    ...(Object.keys(rule.allowed).length > 0 ? { allowed: { ...rule.allowed } } : {}),
    ...(Object.keys(rule.denied).length > 0 ? { denied: { ...rule.denied } } : {}),
    ...(rule.required.length > 0 ? { required: rule.required } : {}),
    ...(rule.minWrapping > 0 ? { minWrapping: rule.minWrapping } : {}),
    ...(rule.maxWrapping > 0 ? { maxWrapping: rule.maxWrapping } : {}),
  }))

const rule = { path: 'a/*', capabilities: ['read'] }

describe('accepted forms of a policy', () => {
  test.each([
    ['HCL', 'path "a/*" { capabilities = ["read"] }', [rule]],
    ['JSON', '{"path": {"a/*": {"capabilities": ["read"]}}}', [rule]],
    ['JSON with lists of rules', '{"path": [{"a/*": [{"capabilities": ["read"]}]}]}', [rule]],
    ['JSON after white space', '\n {"path": {"a/*": {"capabilities": ["read"]}}}', [rule]],
    ['HCL with rules as an object', 'path = { "a/*" = { capabilities = ["read"] } }', [rule]],
    ['a name, which counts for nothing', 'name = "x"\npath "a/*" { capabilities = ["read"] }', [rule]],
    ['nothing but comments', '# later\n', []],
    ['an empty object', '{}', []],
    ['a leading slash', 'path "/a/*" { capabilities = ["read"] }', [rule]],
    ['capabilities in capitals', 'path "a/*" { capabilities = ["READ"] }', [rule]],
    ['no capabilities: the path is closed', 'path "a/*" {}', [{ path: 'a/*', capabilities: [] }]],
    ['the old word deny', 'path "a/*" { policy = "deny" }', [{ path: 'a/*', capabilities: ['deny'] }]],
    [
      'the old word read',
      'path "a/*" { policy = "read" }',
      [{ path: 'a/*', capabilities: ['list', 'read'] }],
    ],
    [
      'the old word write',
      'path "a/*" { policy = "write" }',
      [{ path: 'a/*', capabilities: ['create', 'delete', 'list', 'patch', 'read', 'update'] }],
    ],
    [
      'the old word sudo',
      'path "a/*" { policy = "sudo" }',
      [{ path: 'a/*', capabilities: ['create', 'delete', 'list', 'patch', 'read', 'sudo', 'update'] }],
    ],
    [
      'deny clears the others',
      'path "a" { capabilities = ["read", "deny"] }',
      [{ path: 'a', capabilities: ['deny'] }],
    ],
    [
      'every capability',
      `path "a" { capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo", "subscribe", "recover"] }`,
      [{ path: 'a', capabilities: capabilities.filter(one => one !== 'deny').toSorted() }],
    ],
    [
      'a path twice: two rules, united later',
      'path "a" { capabilities = ["read"] }\npath "a" { capabilities = ["list"] }',
      [
        { path: 'a', capabilities: ['read'] },
        { path: 'a', capabilities: ['list'] },
      ],
    ],
    [
      'parameters, as an argument and as a block',
      'path "a" {\n allowed_parameters = { Ttl = ["1h", 3600], "*" = [] }\n denied_parameters { X = [] }\n required_parameters = ["Y"]\n}',
      [
        {
          path: 'a',
          capabilities: [],
          allowed: { ttl: ['1h', 3600], '*': [] },
          denied: { x: [] },
          required: ['y'],
        },
      ],
    ],
    [
      'bounds of wrapping',
      'path "a" { min_wrapping_ttl = "1m" max_wrapping_ttl = 90 }',
      [{ path: 'a', capabilities: [], minWrapping: 60, maxWrapping: 90 }],
    ],
  ])('%s', (_, text, expected) => {
    expect(said(text)).toEqual(expected)
  })
})

describe('rejected policies', () => {
  test.each([
    [
      'an unknown name at the top',
      'paths "a" { capabilities = ["read"] }',
      '"paths" is not supported at the top of a policy',
    ],
    ['an unknown argument', 'path "a" { capability = ["read"] }', '"capability" is not supported'],
    [
      'an unknown argument in JSON',
      '{"path": {"a": {"Capabilities": ["read"]}}}',
      '"Capabilities" is not supported',
    ],
    ['a name of a prototype', 'path "a" { constructor = 1 }', '"constructor" is not supported'],
    ['another', '{"path": {"a": {"__proto__": {"capabilities": ["read"]}}}}', '"__proto__" is not supported'],
    ['a path without label', 'path { capabilities = ["read"] }', 'expected path'],
    ['an unknown capability', 'path "a" { capabilities = ["raed"] }', 'unknown capability'],
    ['a capability of a prototype', 'path "a" { capabilities = ["constructor"] }', 'unknown capability'],
    ['capabilities in a text', 'path "a" { capabilities = "read" }', 'expected a list of strings'],
    [
      'capabilities in an object',
      'path "a" { capabilities = { read = true } }',
      'expected a list of strings',
    ],
    [
      'a capability that is a number',
      'path "a" { capabilities = ["read", 1] }',
      'expected a list of strings',
    ],
    ['a nested list of capabilities', 'path "a" { capabilities = [["read"]] }', 'expected a list of strings'],
    ['capabilities that are null', '{"path": {"a": {"capabilities": null}}}', 'expected a list of strings'],
    ['an argument twice', 'path "a" { capabilities = ["read"] capabilities = ["deny"] }', 'given twice'],
    [
      'a block twice',
      'path "a" {\ndenied_parameters { b = [] }\ndenied_parameters { c = [] }\n}',
      'given twice',
    ],
    [
      'a block beside an argument',
      'path "a" {\ndenied_parameters = { b = [] }\ndenied_parameters { c = [] }\n}',
      'given twice',
    ],
    ['a block in a block', 'path "a" {\ndenied_parameters {\nb { c = [] }\n}\n}', 'unexpected block'],
    ['a block with a label', 'path "a" {\ndenied_parameters "b" { c = [] }\n}', 'unexpected block'],
    [
      'a key of JSON twice',
      '{"path": {"a": {"capabilities": ["deny"]}, "a": {"capabilities": ["read"]}}}',
      'a key twice',
    ],
    ['the same key, escaped', '{"path": {"a": {}, "\\u0061": {}}}', 'a key twice'],
    [
      'a parameter twice but for its case',
      'path "a" { denied_parameters = { b = [1], B = [2] } }',
      'given twice',
    ],
    ['parameters in a list', 'path "a" { denied_parameters = ["b"] }', 'parameters must be an object'],
    ['a parameter without list', 'path "a" { denied_parameters = { b = "c" } }', 'needs a list of values'],
    [
      'a required parameter that is no text',
      'path "a" { required_parameters = [1] }',
      'expected a list of strings',
    ],
    [
      'an integer that would be rounded',
      '{"path": {"a": {"denied_parameters": {"b": [9007199254740993]}}}}',
      'exactly',
    ],
    ['the same in HCL', 'path "a" { denied_parameters = { b = [9007199254740993] } }', 'exactly'],
    ['an unknown old word', 'path "a" { policy = "reed" }', '"policy" has an unknown value'],
    ['an old word of a prototype', 'path "a" { policy = "constructor" }', '"policy" has an unknown value'],
    ['an old word in a list', 'path "a" { policy = ["read"] }', '"policy" has an unknown value'],
    [
      'bounds that exclude each other',
      'path "a" { min_wrapping_ttl = 2 max_wrapping_ttl = 1 }',
      'above max_wrapping_ttl',
    ],
    ['a negative bound', 'path "a" { min_wrapping_ttl = -1 }', 'not a duration'],
    ['a bound that is no duration', 'path "a" { max_wrapping_ttl = true }', 'not a duration'],
    ['a template', 'path "a/{{identity.entity.id}}" {}', 'templates are not supported'],
    ['a star in the middle', 'path "a/*/b" {}', 'only at the end'],
    ['two stars', 'path "a/**" {}', 'only at the end'],
    ['a plus before a star', 'path "a/+*" {}', 'not allowed'],
    ['a plus inside a segment', 'path "a/b+" {}', 'whole segment'],
    ['a path that holds a text', '{"path": {"a": "read"}}', 'rules must be an object'],
    ['rules that are a text', '{"path": "a"}', 'must hold an object of rules'],
    ['broken JSON', '{"path": ', 'not valid JSON'],
    ['deep JSON', `{"path": ${'['.repeat(20)}${']'.repeat(20)}}`, 'nested too deeply'],
    ['neither HCL nor JSON', 'hello', 'line 1: expected'],
  ])('%s', (_, text, message) => {
    expect(() => parsePolicy(text)).toThrow(PolicySyntaxError)
    expect(() => parsePolicy(text)).toThrow(message)
  })
})

test('any JSON is parsed or rejected', () => {
  const name = fc.constantFrom(
    'path',
    'a',
    'capabilities',
    'policy',
    'allowed_parameters',
    '__proto__',
    'constructor',
  )
  const { value } = fc.letrec<{ value: unknown }>(tie => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, 1, -1, 'read', '1h', '', '{{'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(value, fc.boolean(), (given, deep) => {
      try {
        parsePolicy(JSON.stringify(deep ? { path: { a: given } } : { path: given }))
      } catch (error) {
        expect(error).toBeInstanceOf(PolicySyntaxError)
      }
    }),
    { numRuns: 1000 },
  )
})

test('the same policy in HCL and JSON gives the same rules', () => {
  const path = fc.constantFrom('a', 'a/b', 'a/*', 'a/+/c', '*', '+/b', '__proto__')
  const body = fc.record(
    {
      capabilities: fc.uniqueArray(fc.constantFrom(...capabilities)),
      allowed_parameters: fc.dictionary(
        fc.constantFrom('x', 'y', '*'),
        fc.array(fc.oneof(fc.integer(), fc.boolean())),
      ),
      required_parameters: fc.uniqueArray(fc.constantFrom('x', 'y')),
      max_wrapping_ttl: fc.integer({ min: 1, max: 1000 }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.dictionary(path, body), rules => {
      const blocks = Object.entries(rules).map(([label, given]) => {
        const lines = Object.entries(given).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
        return `path "${label}" {\n${lines.join('')}}\n`
      })
      expect(said(blocks.join(''))).toEqual(said(JSON.stringify({ path: rules })))
    }),
  )
})
