import fc from 'fast-check'
import { BadValueError, type ParameterField, type ParameterFields } from '../../../shared/api/fields.ts'

const values: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1e308,
  2 ** 53,
  0.5,
  true,
  false,
  [],
  {},
  [[]],
  [{}],
  [''],
  [null],
  '0',
  '-1',
  '1h',
  '9999999999h',
  'root',
  'ROOT',
  '__proto__',
  { __proto__: null, constructor: 1, toString: {} },
  ['__proto__', 'constructor'],
  '\u0000\u0001\u007f',
  '\u{1f600}é中',
  '../../../..',
  '{{identity.entity.id}}',
  'x'.repeat(5000),
  Array.from({ length: 200 }, (_, index) => `x${index}`),
  'arn:aws:iam::111122223333:role/x',
  'AAAA',
  'hvs.x',
  'hvb.1.AAAA',
]

const isReadable = (field: ParameterField<unknown>, value: unknown): boolean => {
  try {
    field.read(value)
    return true
  } catch (error) {
    if (error instanceof BadValueError) return false
    throw error
  }
}

/**
 * Generates mostly values that a field accepts, so that requests also reach the code after the parsing of
 * parameters.
 */
const valueFor = (field: ParameterField<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...values.filter(value => isReadable(field, value))) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  )

/** Returns request bodies that no careful client sends. Every run gets equal bodies. */
export function bodiesFor(fields: ParameterFields, numRuns: number): Record<string, unknown>[] {
  const names = Object.keys(fields)
  const body = fc.record(
    Object.fromEntries(names.map(name => [name, valueFor(fields[name] as ParameterField<unknown>)])),
    {
      requiredKeys: names.filter(name => fields[name]?.required),
      noNullPrototype: true,
    },
  )
  return fc.sample(body, { numRuns, seed: 20_260 })
}
