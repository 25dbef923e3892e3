import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObject, type JsonLimits, readJson } from '../../../shared/values/json.ts'
import { failed, ok } from '../../../shared/values/result.ts'

const wide: JsonLimits = { depth: 64, members: 10_000, values: 500_000 }
const fault = (text: string, limits: Partial<JsonLimits> = {}) => {
  const read = readJson(text, { ...wide, ...limits })
  return read.ok ? 'read' : read.fault
}

describe('readJson', () => {
  test('readJson accepts what JSON.parse accepts', () => {
    fc.assert(
      fc.property(fc.json(), text => {
        const read = readJson(text, wide)
        if (read.ok) expect(read.value).toEqual(JSON.parse(text))
        else expect(['inexact number', 'malformed']).toContain(read.fault)
      }),
    )
  })

  test('readJson rejects what JSON.parse rejects, and never throws', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '\\',
      'a',
      '1',
      ' ',
      'null',
      '"a"',
      '\\u',
      '0',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), list => {
        const text = list.join('')
        const parses = (() => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        if (!parses) expect(readJson(text, wide).ok).toBe(false)
      }),
    )
  })

  test.each([
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    "{'a':1}",
    '{"a":1}x',
    '{"a":1}{}',
    '"',
    '"\\',
    'undefined',
    'NaN',
    '01',
    '+1',
    '1.',
    '.5',
    '\u{feff}{}',
    '{"a":"\n"}',
    '{a:1}',
    '// x\n1',
  ])('%j is malformed', text => {
    expect(fault(text)).toBe('malformed')
  })

  test.each(['"\\ud800"', '"\\udfff"', '{"\\ud800":1}', '["a","\\uDC00x"]', '{"a":{"b":"\\ud83d\\ud83d"}}'])(
    '%s holds half a character and is malformed',
    text => {
      expect(fault(text)).toBe('malformed')
    },
  )

  test('an escaped surrogate pair is one character', () => {
    expect(readJson('"\\ud83d\\ude00"', wide)).toEqual(ok('😀'))
  })

  test.each(['9007199254740993', '1e400', '-9007199254740993', '0.1234567890123456789'])(
    '%s loses digits and is refused',
    text => {
      expect(fault(text)).toBe('inexact number')
      expect(fault(`{"a":[${text}]}`)).toBe('inexact number')
      expect(fault(`"${text}"`)).toBe('read')
    },
  )

  test('error texts never quote the input', () => {
    expect(readJson('{"secret_key":"SECRET', wide)).toEqual(failed('malformed'))
  })
})

describe('limits: CVE-2025-6203', () => {
  test.each<[string, Partial<JsonLimits>, string]>([
    ['[[1]]', { depth: 2 }, 'read'],
    ['[[[1]]]', { depth: 2 }, 'too complex'],
    ['{"a":{"a":{}}}', { depth: 2 }, 'too complex'],
    ['"[[[[[["', { depth: 1 }, 'read'],
    ['[[],[],[]]', { depth: 2 }, 'read'],
    ['[1,2,3]', { members: 3 }, 'read'],
    ['[1,2,3,4]', { members: 3 }, 'too complex'],
    ['{"a":1,"b":2}', { members: 1 }, 'too complex'],
    ['[",,,,"]', { members: 1 }, 'read'],
    ['[[1,2],[3,4]]', { values: 4 }, 'read'],
    ['[[1,2],[3,4]]', { values: 3 }, 'too complex'],
  ])('the text %s with the limits %j: %s', (text, limits, expected) => {
    expect(fault(text, limits)).toBe(expected)
  })

  test.each(['['.repeat(500_000), '{"a":'.repeat(200_000), `[${'1,'.repeat(500_000)}1]`])(
    'the document $0 is too complex',
    text => {
      expect(fault(text)).toBe('too complex')
    },
  )
})

describe('repeated keys', () => {
  test.each([
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"a" :1,"a"\n:2}',
    '{"x":{"a":1,"a":1}}',
    '[{"a":1,"b":2,"a":3}]',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"a":{"b":1},"a":1}',
  ])('%s has a repeated key', text => {
    expect(fault(text, { uniqueKeys: true })).toBe('repeated key')
    expect(fault(text)).toBe('read')
  })

  test.each([
    '{"a":1,"A":2}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":2}]',
    '{"a":"a","b":"a"}',
    '["a","a"]',
    '{"a":"{\\"a\\":1,\\"a\\":2}"}',
  ])('%s has no repeated key', text => {
    expect(fault(text, { uniqueKeys: true })).toBe('read')
  })

  test('by default the last repeated key wins', () => {
    expect(readJson('{"a":1,"a":2}', wide)).toEqual(ok({ a: 2 }))
  })
})

test.each<[unknown, boolean]>([
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  ['{}', false],
  [undefined, false],
])('isObject(%j) is %s (%#)', (value, expected) => {
  expect(isObject(value)).toBe(expected)
})
