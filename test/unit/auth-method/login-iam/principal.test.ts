import { describe, expect, test } from 'vitest'
import {
  type PrincipalFacts,
  roleAdmitsPrincipal,
} from '../../../../shared/auth-method/login-iam/principal.ts'

const APP = 'arn:aws:iam::111122223333:role/app'
const principal: PrincipalFacts = { uniqueId: 'AROAEXAMPLE', canonicalArn: APP }

interface Bound {
  arns: string[]
  ids?: string[]
  resolve?: boolean
}
const admitted = ({ arns, ids = [], resolve = true }: Bound, parts: Partial<PrincipalFacts> = {}) =>
  roleAdmitsPrincipal(
    { boundIamPrincipalArns: arns, boundIamPrincipalIds: ids, resolveAwsUniqueIds: resolve },
    { ...principal, ...parts },
  )

describe('bound principals', () => {
  test.each<[string, Bound, string]>([
    ['none bound', { arns: [] }, 'yes'],
    ['its unique ID', { arns: [APP], ids: ['AROAEXAMPLE'] }, 'yes'],
    ['its unique ID among others', { arns: [APP], ids: ['AIDAOTHER', 'AROAEXAMPLE'] }, 'yes'],
    [
      'another unique ID, though the name is right: a recreated principal',
      { arns: [APP], ids: ['AROAOTHER'] },
      'no',
    ],
    ['its name, while unique IDs are resolved', { arns: [APP] }, 'no'],
    ['its name, while unique IDs are not resolved', { arns: [APP], resolve: false }, 'yes'],
    ['its name in another case', { arns: [APP.toUpperCase()], resolve: false }, 'no'],
    [
      'its name with a path, not resolved',
      { arns: ['arn:aws:iam::111122223333:role/team/app'], resolve: false },
      'no',
    ],
    ['another name', { arns: ['arn:aws:iam::111122223333:role/ap'], resolve: false }, 'no'],
    [
      'the same name in another account',
      { arns: ['arn:aws:iam::444455556666:role/app'], resolve: false },
      'no',
    ],
    ['its session', { arns: ['arn:aws:sts::111122223333:assumed-role/app/s'], resolve: false }, 'no'],
    ['a wildcard', { arns: ['arn:aws:iam::111122223333:role/*'] }, 'look-up'],
    [
      'a wildcard beside its unique ID',
      { arns: ['arn:aws:iam::111122223333:role/*'], ids: ['AROAEXAMPLE'] },
      'yes',
    ],
    ['a wildcard in the middle is none', { arns: ['arn:aws:iam::111122223333:role/a*p'] }, 'no'],
  ])('%s', (_, bound, expected) => {
    expect(admitted(bound)).toBe(expected)
  })

  const fullArn = 'arn:aws:iam::111122223333:role/team/app'
  test.each([
    ['arn:aws:iam::111122223333:role/*', 'yes'],
    ['arn:aws:iam::111122223333:role/team/*', 'yes'],
    ['arn:aws:iam::111122223333:role/team/app*', 'yes'],
    ['arn:aws:iam::111122223333:*', 'yes'],
    ['arn:aws:iam::111122223333:role/app*', 'no'],
    ['arn:aws:iam::111122223333:role/team/app**', 'no'],
    ['arn:aws:iam::111122223333:role/team/b*', 'no'],
    ['arn:aws:iam::111122223333:role/*/app*', 'no'],
    ['arn:aws:iam::444455556666:role/*', 'no'],
    ['arn:aws:sts::111122223333:assumed-role/app/*', 'no'],
    ['arn:aws-cn:iam::111122223333:role/*', 'no'],
    ['*app*', 'no'],
  ])('with a known path, %s is admitted: %s', (arn, expected) => {
    expect(admitted({ arns: [arn] }, { fullArn })).toBe(expected)
  })

  test('one matching wildcard of several is enough', () => {
    expect(
      admitted(
        { arns: ['arn:aws:iam::444455556666:*', 'arn:aws:iam::111122223333:role/team/*'] },
        { fullArn },
      ),
    ).toBe('yes')
  })

  test('a token without a unique ID is admitted by name or wildcard only', () => {
    const { uniqueId: _, ...old } = principal
    const role = { boundIamPrincipalArns: [APP], boundIamPrincipalIds: ['AROAEXAMPLE'] }
    expect(roleAdmitsPrincipal({ ...role, resolveAwsUniqueIds: true }, old)).toBe('no')
    expect(roleAdmitsPrincipal(role, old)).toBe('yes')
  })
})
