import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  anyField,
  boolField,
  durationField,
  intField,
  listField,
  listMapField,
  lowerTextField,
  ParameterError,
  type ParameterField,
  parseBoolean,
  readParameterFields,
  textField,
  textMapField,
} from '../../../shared/api/fields.ts'

const REFUSED = Symbol('refused')
const SECRET = 'S3CRET'
const object = { a: SECRET }

const read = <T>(field: ParameterField<T>, raw: unknown): unknown => {
  try {
    return readParameterFields({ it: field }, { it: raw }).parameters.it
  } catch (error) {
    expect(error).toBeInstanceOf(ParameterError)
    expect((error as Error).message).toMatch(/^Field validation failed: it must be /)
    return REFUSED
  }
}

describe('reading field values', () => {
  test.each<[raw: unknown, value: unknown]>([
    ['Ab ', 'Ab '],
    ['', ''],
    [12, '12'],
    [1.5, '1.5'],
    [true, '1'],
    [false, '0'],
    [null, ''],
    [object, REFUSED],
    [['a'], REFUSED],
  ])('a text from %j is %s', (raw, value) => expect(read(textField('', {}), raw)).toBe(value))

  test.each<[raw: unknown, value: unknown]>([
    ['ÀBc', 'Àbc'],
    ['İ', 'İ'],
    [null, ''],
    [object, REFUSED],
  ])('a lower-case text from %j is %s', (raw, value) => expect(read(lowerTextField(''), raw)).toBe(value))

  test.each<[raw: unknown, value: unknown]>([
    ...['1', 't', 'T', 'TRUE', 'true', 'True', true, 1].map(raw => [raw, true] as [unknown, unknown]),
    ...['0', 'f', 'F', 'FALSE', 'false', 'False', false, 0, '', null].map(
      raw => [raw, false] as [unknown, unknown],
    ),
    ...['yes', 'on', 'tRUE', ' true', 2, -1, 0.5, '2', object, [true], []].map(
      raw => [raw, REFUSED] as [unknown, unknown],
    ),
  ])('a boolean from %j is %s', (raw, value) => expect(read(boolField(''), raw)).toBe(value))

  test.each<[raw: unknown, value: unknown]>([
    [12, 12],
    [-1, -1],
    ['12', 12],
    ['+12', 12],
    ['-12', -12],
    ['0x1F', 31],
    ['-0x1f', -31],
    ['0o17', 15],
    ['0b11', 3],
    ['010', 10],
    [true, 1],
    [false, 0],
    ['', 0],
    [null, 0],
    [9007199254740991, 9007199254740991],
    [9007199254740992, REFUSED],
    ['9007199254740992', REFUSED],
    ['0x20000000000000', REFUSED],
    [1.5, REFUSED],
    ['1.5', REFUSED],
    ['1e3', REFUSED],
    [' 1', REFUSED],
    ['ten', REFUSED],
    ['Infinity', REFUSED],
    ['0b12', REFUSED],
    [object, REFUSED],
    [[1], REFUSED],
  ])('an integer from %j is %s', (raw, value) => expect(read(intField(''), raw)).toBe(value))

  test.each<[raw: unknown, value: unknown]>([
    ['a,b', ['a', 'b']],
    [' a , b ,, ', ['a', 'b']],
    ['', []],
    [[], []],
    [null, []],
    [
      ['a, b', ' c '],
      ['a, b', 'c'],
    ],
    [
      ['a', '', 'a'],
      ['a', 'a'],
    ],
    [
      [1, 'b'],
      ['1', 'b'],
    ],
    [12, ['12']],
    [true, REFUSED],
    [object, REFUSED],
    [[object], REFUSED],
    [[['a']], REFUSED],
    [[null], REFUSED],
    [[true], REFUSED],
  ])('a list from %j is $1', (raw, value) => expect(read(listField(''), raw)).toEqual(value))

  test.each<[raw: unknown, value: unknown]>([
    [90, 90],
    ['90', 90],
    [' 90 ', 90],
    ['', 0],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['3d', 259_200],
    ['1999ms', 1],
    [null, undefined],
    [2147483647, 2147483647],
    [2147483648, REFUSED],
    [-1, REFUSED],
    ['-1h', REFUSED],
    [1.5, REFUSED],
    ['1.5', REFUSED],
    ['1w', REFUSED],
    [true, REFUSED],
    [object, REFUSED],
    [[90], REFUSED],
  ])('a duration from %j is %s', (raw, value) => expect(read(durationField(''), raw)).toBe(value))

  test.each<[raw: unknown, value: unknown]>([
    [
      { a: 'b', c: 1, d: true, e: null },
      { a: 'b', c: '1', d: '1', e: '' },
    ],
    [{}, {}],
    [null, {}],
    [
      { toString: 'x', constructor: 'y' },
      { toString: 'x', constructor: 'y' },
    ],
    [JSON.parse('{"__proto__": "x"}'), REFUSED],
    [{ '': 'x' }, REFUSED],
    ['a=b', REFUSED],
    [[], REFUSED],
    [{ a: {} }, REFUSED],
    [{ a: ['b'] }, REFUSED],
  ])('a map from %j is $1', (raw, value) => {
    const found = read(textMapField(''), raw)
    if (value === REFUSED) expect(found).toBe(REFUSED)
    else expect(Object.entries(found as object)).toEqual(Object.entries(value as object))
  })

  test.each([
    [
      { a: ['b', 1], c: 'd, e' },
      { a: ['b', '1'], c: ['d', 'e'] },
    ],
    [
      { a: null, b: [] },
      { a: [], b: [] },
    ],
    [
      { a: ['', ' ', 'x '], b: '', c: 'x,,' },
      { a: ['', 'x'], b: [], c: ['x'] },
    ],
    [null, {}],
    [{ a: { b: 'c' } }, REFUSED],
    [{ a: [['b']] }, REFUSED],
    [{ a: true }, REFUSED],
    [{ '': ['b'] }, REFUSED],
    [JSON.parse('{"__proto__": ["x"]}'), REFUSED],
    [['a'], REFUSED],
    ['a=b', REFUSED],
  ])('a map of lists from %j is $1', (raw, value) => {
    const found = read(listMapField(''), raw)
    if (value === REFUSED) expect(found).toBe(REFUSED)
    else expect(Object.entries(found as object)).toEqual(Object.entries(value as object))
  })

  test.each([[null], [0], ['x'], [{ a: [1] }]])('anything from %j is the same', raw =>
    expect(read(anyField(''), raw)).toBe(raw),
  )

  test.each([
    ['1', true],
    ['True', true],
    ['f', false],
    ['', undefined],
    ['yes', undefined],
    ['constructor', undefined],
  ])('the boolean word %j is %s', (word, value) => expect(parseBoolean(word)).toBe(value))

  test('any value is read or rejected, and never quoted', () => {
    const kinds = {
      text: textField,
      lowerText: lowerTextField,
      bool: boolField,
      int: intField,
      list: listField,
      duration: durationField,
      map: textMapField,
      mapOfLists: listMapField,
    }
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(kinds)), fc.jsonValue(), (kind, raw) => {
        try {
          readParameterFields({ it: kind('') }, { it: raw })
        } catch (error) {
          expect((error as Error).message).toMatch(/^Field validation failed: it must be an? [a-z_, ]+$/)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('reading the fields of a request', () => {
  const fields = {
    role: textField(''),
    token_ttl: durationField(''),
    cert: textField('', { formerly: 'old_cert', required: true }),
  }

  test('the result contains the sent fields and the unknown names', () => {
    const { parameters, unknown } = readParameterFields(fields, { cert: 'x', role: '', other: 1, __proto: 2 })
    expect({ ...parameters }).toEqual({ cert: 'x', role: '' })
    expect(unknown).toEqual(['other', '__proto'])
  })

  test('a null duration counts as not sent, a null text as empty', () => {
    const { parameters } = readParameterFields(fields, { cert: 'x', role: null, token_ttl: null })
    expect({ ...parameters }).toEqual({ cert: 'x', role: '' })
  })

  test.each([
    ['the older name', { old_cert: 'x' }, 'x'],
    ['the current name before the older one', { cert: 'y', old_cert: 'x' }, 'y'],
  ])('%s is accepted', (_, raw, value) => {
    const { parameters, unknown } = readParameterFields(fields, raw)
    expect(parameters.cert).toBe(value)
    expect(unknown).toEqual([])
  })

  test.each([[{}], [{ cert: '' }], [{ cert: null }], [{ old_cert: '' }]])(
    'a required field is missing in %j',
    raw => {
      expect(() => readParameterFields(fields, raw)).toThrow(new ParameterError('cert is required'))
    },
  )

  test('an error names the field as sent, never its value (CVE-2025-4166)', () => {
    expect(() => readParameterFields(fields, { old_cert: { a: SECRET } })).toThrow(
      new ParameterError('Field validation failed: old_cert must be a string'),
    )
  })

  test('properties of the prototype count as not sent', () => {
    expect(
      readParameterFields({ constructor: textField(''), toString: textField('') }, {}).parameters,
    ).toEqual({})
    const raw = JSON.parse('{"__proto__": {"cert": "x"}, "cert": "y"}')
    expect(readParameterFields(fields, raw)).toMatchObject({
      parameters: { cert: 'y' },
      unknown: ['__proto__'],
    })
    expect(() => readParameterFields(fields, JSON.parse('{"__proto__": {"cert": "x"}}'))).toThrow(
      'cert is required',
    )
  })
})
