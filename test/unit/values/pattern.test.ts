import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesGlob } from '../../../shared/values/pattern.ts'

describe('a glob pattern', () => {
  test.each<[glob: string, value: string, covered: boolean]>([
    ['admin', 'admin', true],
    ['admin', 'admins', false],
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['adm*', 'admin', true],
    ['adm*', 'bad-adm', false],
    ['*min', 'admin', true],
    ['*min', 'minor', false],
    ['*dmi*', 'admin', true],
    ['*dmi*', 'dim', false],
    ['a*n', 'admin', true],
    ['a*n', 'an', true],
    ['aa*aa', 'aaa', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['*ab*ab*', 'abab', true],
    ['*ab*ab*', 'aba', false],
    ['**', '', true],
    ['a**b', 'ab', true],
    ['a.c', 'abc', false],
    ['[a]+', '[a]+', true],
  ])('the glob %j matches %j: %s', (glob, value, covered) => expect(matchesGlob(glob, value)).toBe(covered))

  test('a glob equals a regular expression with `.*` for each star', () => {
    const few = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 10 })
    fc.assert(
      fc.property(few, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 14 }), (glob, value) => {
        expect(matchesGlob(glob, value)).toBe(new RegExp(`^${glob.replaceAll('*', '.*')}$`).test(value))
      }),
      { numRuns: 2000 },
    )
  })

  test('a glob with many stars runs in one pass', () => {
    expect(matchesGlob(`${'*a'.repeat(20_000)}*b`, 'a'.repeat(20_000))).toBe(false)
  })
})
