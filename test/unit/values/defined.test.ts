import { describe, expect, expectTypeOf, test } from 'vitest'
import { defined } from '../../../shared/values/defined.ts'

describe('defined', () => {
  test('only undefined properties are omitted', () => {
    const found = defined({ a: undefined, b: null, c: 0, d: '', e: false, f: [], g: { h: undefined } })
    expect(Object.entries(found)).toEqual([
      ['b', null],
      ['c', 0],
      ['d', ''],
      ['e', false],
      ['f', []],
      ['g', { h: undefined }],
    ])
  })

  test('a property named __proto__ is kept', () => {
    const found = defined(JSON.parse('{"__proto__": {"admin": true}}') as Record<string, unknown>)
    expect(Object.keys(found)).toEqual(['__proto__'])
    expect('admin' in found).toBe(false)
  })

  test('possibly undefined properties become optional, and unknown ones stay', () => {
    const found = defined({ kind: 'x', may: 1 as number | undefined, any: 1 as unknown })
    expectTypeOf(found).toExtend<{ kind: 'x'; may?: number; any: unknown }>()
    // @ts-expect-error what may be left out is not there for sure
    const sure: { may: number } = found
    expect(sure).toEqual({ kind: 'x', may: 1, any: 1 })
  })
})
