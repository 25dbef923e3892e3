import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalArnOf, type IamEntity, iamArn, parseIamEntity } from '../../../shared/values/arn.ts'

const ACCOUNT = '111122223333'

describe('parseIamEntity', () => {
  const base = { partition: 'aws', account: ACCOUNT, path: '' } as const
  test.each<[string, IamEntity]>([
    [`arn:aws:iam::${ACCOUNT}:user/bob`, { ...base, type: 'user', name: 'bob' }],
    [`arn:aws:iam::${ACCOUNT}:user/a/b/bob`, { ...base, type: 'user', name: 'bob', path: 'a/b' }],
    [
      `arn:aws:sts::${ACCOUNT}:assumed-role/R/S1`,
      { ...base, type: 'assumed-role', name: 'R', session: 'S1' },
    ],
    [`arn:aws:iam::${ACCOUNT}:role/p/R`, { ...base, type: 'role', name: 'R', path: 'p' }],
    [
      `arn:aws:iam::${ACCOUNT}:instance-profile/p/P`,
      { ...base, type: 'instance-profile', name: 'P', path: 'p' },
    ],
    [`arn:aws-cn:iam::${ACCOUNT}:role/R`, { ...base, partition: 'aws-cn', type: 'role', name: 'R' }],
    [`arn:aws-us-gov:iam::${ACCOUNT}:role/R`, { ...base, partition: 'aws-us-gov', type: 'role', name: 'R' }],
    [`arn:aws-eusc:iam::${ACCOUNT}:role/R`, { ...base, partition: 'aws-eusc', type: 'role', name: 'R' }],
    [`arn:aws:iam::${ACCOUNT}:user/Bob_+=,.@-1`, { ...base, type: 'user', name: 'Bob_+=,.@-1' }],
    [
      `arn:aws:iam::${ACCOUNT}:role/aws-service-role/x.amazonaws.com/R`,
      { ...base, type: 'role', name: 'R', path: 'aws-service-role/x.amazonaws.com' },
    ],
  ])('parseIamEntity parses %s', (arn, entity) => {
    expect(parseIamEntity(arn)).toEqual(entity)
  })

  test.each([
    '',
    ':',
    ':::::',
    '::::::',
    'arn',
    'arn:aws:iam::1',
    'arn:aws:iam',
    `arn:aws:iam::${ACCOUNT}:`,
    `arn:aws:iam::${ACCOUNT}:user`,
    `arn:aws:iam::${ACCOUNT}:user/`,
    `arn:aws:iam::${ACCOUNT}:user//bob`,
    `arn:aws:iam::${ACCOUNT}:user/a/`,
    `arn:aws:iam::${ACCOUNT}:/bob`,
    `arn:aws:iam::${ACCOUNT}:root`,
    `arn:aws:iam::${ACCOUNT}:group/x`,
    `arn:aws:iam::${ACCOUNT}:constructor/x`,
    `arn:aws:iam::${ACCOUNT}:User/bob`,
    `arn:aws:iam::${ACCOUNT}:user/bob:x`,
    `arn:aws:iam::${ACCOUNT}:user/bob\n`,
    `arn:aws:iam::${ACCOUNT}:user/b ob`,
    `arn:aws:iam::${ACCOUNT}:user/*`,
    `arn:aws:iam::${ACCOUNT}:user/bøb`,
    `arn:aws:iam::${ACCOUNT}:user/p\0/bob`,
    `arn:aws:iam::${ACCOUNT}:user/${'x'.repeat(129)}`,
    `arn:aws:iam:us-east-1:${ACCOUNT}:user/bob`,
    `arn:aws:iam::11112222333:user/bob`,
    `arn:aws:iam::1111222233334:user/bob`,
    `arn:aws:iam::aws:role/R`,
    `arn:aws:sts::${ACCOUNT}:user/bob`,
    `arn:aws:sts::${ACCOUNT}:role/R`,
    `arn:aws:iam::${ACCOUNT}:assumed-role/R/S1`,
    `arn:aws:sts::${ACCOUNT}:federated-user/bob`,
    `arn:aws:sts::${ACCOUNT}:assumed-role`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R/`,
    `arn:aws:sts::${ACCOUNT}:assumed-role//S1`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R/S1/x`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R/S`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R/${'s'.repeat(65)}`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R/a b`,
    `arn:aws:sts::${ACCOUNT}:assumed-role/R/a*`,
    `arn:aws-x:iam::${ACCOUNT}:user/bob`,
    `arn:AWS:iam::${ACCOUNT}:user/bob`,
    `ARN:aws:iam::${ACCOUNT}:user/bob`,
    `arn:__proto__:iam::${ACCOUNT}:user/bob`,
    ` arn:aws:iam::${ACCOUNT}:user/bob`,
    `xarn:aws:iam::${ACCOUNT}:user/bob`,
  ])('parseIamEntity rejects %j', arn => {
    expect(parseIamEntity(arn)).toBeUndefined()
  })

  test('parseIamEntity never throws', () => {
    const pieces = fc.constantFrom(
      ':',
      '/',
      'arn',
      'aws',
      'iam',
      'sts',
      ACCOUNT,
      'user',
      'assumed-role',
      'x',
      '',
    )
    fc.assert(fc.property(fc.array(pieces, { maxLength: 20 }), list => void parseIamEntity(list.join(''))))
  })
})

describe('other forms of an ARN', () => {
  test.each([
    [`arn:aws:iam::${ACCOUNT}:user/a/b/bob`, `arn:aws:iam::${ACCOUNT}:user/bob`],
    [`arn:aws:sts::${ACCOUNT}:assumed-role/R/S1`, `arn:aws:iam::${ACCOUNT}:role/R`],
    [`arn:aws-cn:iam::${ACCOUNT}:role/p/R`, `arn:aws-cn:iam::${ACCOUNT}:role/R`],
    [`arn:aws:iam::${ACCOUNT}:instance-profile/p/P`, `arn:aws:iam::${ACCOUNT}:instance-profile/P`],
  ])('the canonical ARN of %s is %s', (arn, canonical) => {
    expect(canonicalArnOf(parseIamEntity(arn) ?? expect.fail())).toBe(canonical)
  })

  test('iamArn returns the parsed ARN of users, roles and profiles', () => {
    const segment = fc.stringMatching(/^[a-z0-9]{1,5}$/)
    const resource = fc.tuple(
      fc.constantFrom('user', 'role', 'instance-profile'),
      fc.array(segment, { minLength: 1, maxLength: 4 }),
    )
    fc.assert(
      fc.property(resource, ([type, segments]) => {
        const arn = `arn:aws:iam::${ACCOUNT}:${[type, ...segments].join('/')}`
        expect(iamArn(parseIamEntity(arn) ?? expect.fail())).toBe(arn)
      }),
    )
  })
})
