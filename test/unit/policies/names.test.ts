import { describe, expect, test } from 'vitest'
import { addDefaultPolicy, isPolicyName, sanitisePolicies } from '../../../shared/policies/names.ts'

describe('normalised policy names', () => {
  test.each<[given: string[], expected: string[]]>([
    [[], []],
    [['dev'], ['dev']],
    [[' Dev\t', 'dev', 'DEV'], ['dev']],
    [
      ['b', '', ' ', 'a'],
      ['a', 'b'],
    ],
    [['a', 'ROOT', 'b'], ['root']],
    [[' Root '], ['root']],
    [
      ['İ', 'É'],
      ['É', 'İ'],
    ],
    [
      ['__proto__', 'constructor'],
      ['__proto__', 'constructor'],
    ],
  ])('%j becomes %j', (given, expected) => {
    expect(sanitisePolicies(given)).toEqual(expected)
  })

  test.each<[given: string[], suppressed: boolean, expected: string[]]>([
    [['dev'], false, ['default', 'dev']],
    [['dev', 'Default'], false, ['default', 'dev']],
    [[], false, ['default']],
    [['dev'], true, ['dev']],
    [['default'], true, ['default']],
    [['root'], false, ['root']],
  ])('%j with default suppressed %s becomes %j', (given, suppressed, expected) => {
    expect(addDefaultPolicy(given, suppressed)).toEqual(expected)
  })

  test.each(['a', 'a b', 'the team  of two', 'A-b_c.d', 'team/dev', '*', '~!', '__proto__'])(
    '%j is a valid policy name',
    name => {
      expect(isPolicyName(name)).toBe(true)
    },
  )

  test.each([
    '',
    ' ',
    ' a',
    'a ',
    ' a b',
    'a\tb',
    'a\u00a0b',
    'a,b',
    'a:b',
    'é',
    'a\u0000',
    'a\n',
    'a\u007f',
  ])('the text %j is rejected as a policy name', name => {
    expect(isPolicyName(name)).toBe(false)
  })
})
