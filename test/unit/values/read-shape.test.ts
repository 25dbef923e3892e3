import { expect, test } from 'vitest'
import { readShape } from '../../../shared/values/read-shape.ts'
import {
  anyShape,
  arrayShape,
  flagShape,
  intShape,
  mapShape,
  nullableShape,
  objectShape,
  textShape,
} from '../../../shared/values/shape.ts'

const shape = objectShape({
  name: textShape,
  count: intShape,
  made: nullableShape(objectShape({ age: intShape })),
  byKind: mapShape(objectShape({ written: intShape })),
  checks: arrayShape(objectShape({ passes: flagShape }, { seen: anyShape })),
})

test('an object is read by its shape, with nulls, maps, lists and arbitrary values', () => {
  const value = {
    name: 'x',
    count: 1,
    made: null,
    byKind: { a: { written: 2 } },
    checks: [{ passes: true, seen: [7] }],
  }
  expect(readShape(shape, value)).toEqual({ fields: value, odd: [] })
  const { fields } = readShape(shape, { made: { age: 3 } })
  expect(fields).toEqual({ made: { age: 3 } })
})

test.each<[string, object, object, string[]]>([
  ['of another form', { count: 1.5, made: 'x' }, {}, ['count is odd', 'made is odd']],
  [
    'odd in a map',
    { byKind: { a: { written: 2 }, b: 7 } },
    { byKind: { a: { written: 2 } } },
    ['byKind.b is odd'],
  ],
  [
    'missing in a list',
    { checks: [{}, 'x'] },
    { checks: [{ passes: false }] },
    ['checks[0].passes is missing', 'checks[1] is odd'],
  ],
])('a field that is %s is omitted and reported', (_, value, fields, odd) => {
  const read = readShape(shape, value)
  expect(read.fields).toEqual(fields)
  expect(read.odd).toEqual(expect.arrayContaining(odd))
})

test('a value that is not an object has no fields', () => {
  for (const value of [undefined, null, [], 'text']) expect(readShape(shape, value).fields).toEqual({})
})
