import { expect, test } from 'vitest'
import { admitsWholeAccount, namesWholeAccount } from '../../../../shared/auth-method/review/role-width.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { ec2Role, iamRole, inferringRole } from '../../../builders/roles.ts'

const IAM = 'arn:aws:iam::111122223333'

test.each([
  [`${IAM}:*`, true],
  [`${IAM}:role/*`, true],
  [`${IAM}:user/*`, true],
  ['arn:aws-us-gov:iam::111122223333:role/*', true],
  [`${IAM}:role/app*`, false],
  [`${IAM}:role/path/*`, false],
  [`${IAM}:role/app`, false],
])('%s names a whole account: %s', (arn, whole) => {
  expect(namesWholeAccount(arn)).toBe(whole)
})

const account = { bound_account_id: ['111122223333'] }
const all = { boundIamPrincipalArns: [`${IAM}:role/*`] }
const jwt = (parts: Partial<Role>): Role => ({
  ...iamRole({ boundIamPrincipalArns: [] }),
  authType: 'jwt',
  ...parts,
})

test.each<[string, Role, boolean]>([
  ['an ec2 role of an account', ec2Role({ bound: account }), true],
  ['an ec2 role of a region', ec2Role({ bound: { bound_region: ['eu-west-1'] } }), true],
  ['an ec2 role with any role ARN', ec2Role({ bound: { bound_iam_role_arn: ['*'] } }), true],
  ['an ec2 role with tags', ec2Role({ bound: { ...account, bound_tags: { a: ['b'] } } }), false],
  ['an ec2 role with a VPC', ec2Role({ bound: { bound_vpc_id: ['vpc-1'] } }), false],
  ['an iam role of all roles', iamRole(all), true],
  ['an iam role of some roles', iamRole({ boundIamPrincipalArns: [`${IAM}:role/a*`] }), false],
  [
    'an iam role of all roles on some instances',
    inferringRole({ ...all, bound: { bound_vpc_id: ['vpc-1'] } }),
    false,
  ],
  [
    'an iam role of instances of an account',
    inferringRole({ boundIamPrincipalArns: [], bound: account }),
    true,
  ],
  [
    'an iam role of an organization',
    {
      ...iamRole({ boundIamPrincipalArns: [] }),
      claims: { bound_organization_id: ['o-a1b2c3d4e5'] },
    },
    true,
  ],
  ['a jwt role of an organization', jwt({ claims: { bound_organization_id: ['o-a1b2c3d4e5'] } }), true],
  ['a jwt role of a function', jwt({ claims: { bound_lambda_function_arn: ['a'] } }), false],
])('%s', (_, role, whole) => {
  expect(admitsWholeAccount(role)).toBe(whole)
})
