import { expect, test } from 'vitest'
import { findWideBounds, namesWholeAccount } from '../../../../shared/auth-method/review/role-width.ts'
import { noBindings } from '../../../../shared/auth-method/roles/bindings.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { ec2Role, iamRole, inferringRole } from '../../../builders/roles.ts'

const IAM = 'arn:aws:iam::111122223333'
const LAMBDA = 'arn:aws:lambda:eu-west-1:111122223333'

test.each([
  [`${IAM}:*`, true],
  [`${IAM}:role/*`, true],
  [`${IAM}:user/*`, true],
  ['arn:aws-us-gov:iam::111122223333:role/*', true],
  [`${IAM}:rol*`, true],
  [`${IAM}:role*`, true],
  ['arn:aws:iam::*', true],
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
  ['an ec2 role of an instance', ec2Role({ bound: { bound_ec2_instance_id: ['i-1'] } }), false],
  ['an ec2 role with an AMI of that name', ec2Role({ bound: { bound_ami_id: ['*'] } }), false],
  [
    'an ec2 role with roles of a path',
    ec2Role({ bound: { bound_iam_role_arn: [`${IAM}:role/a/*`] } }),
    false,
  ],
  [
    'an ec2 role with one wide role ARN of two',
    ec2Role({ bound: { bound_iam_role_arn: [`${IAM}:role/a`, `${IAM}:role/*`] } }),
    true,
  ],
  [
    'an ec2 role with all profiles of an account',
    ec2Role({ bound: { ...account, bound_iam_instance_profile_arn: [`${IAM}:instance-profile/*`] } }),
    true,
  ],
  [
    'an ec2 role with all profiles and a subnet',
    ec2Role({ bound: { bound_subnet_id: ['subnet-1'], bound_iam_instance_profile_arn: ['*'] } }),
    false,
  ],
  ['an ec2 role with a role tag', ec2Role({ bound: account, roleTag: 'Vault' }), false],
  ['an ec2 role with tags', ec2Role({ bound: { ...account, bound_tags: { a: ['b'] } } }), false],
  ['an ec2 role with a VPC', ec2Role({ bound: { bound_vpc_id: ['vpc-1'] } }), false],
  ['an iam role of all roles', iamRole(all), true],
  [
    'an iam role of one role and all roles',
    iamRole({ boundIamPrincipalArns: [`${IAM}:role/a`, `${IAM}:role/*`] }),
    true,
  ],
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
  [
    'a jwt role of a unit of an organization',
    jwt({ claims: { bound_organization_path: ['o-a1b2c3d4e5/r-ab12/ou-ab12-11111111'] } }),
    true,
  ],
  [
    'a jwt role with version 2 of the metadata service',
    jwt({ bound: { ...noBindings, ...account }, claims: { bound_metadata_version: ['2'] } }),
    true,
  ],
  [
    'a jwt role of a function',
    jwt({ claims: { bound_lambda_function_arn: [`${LAMBDA}:function:a`] } }),
    false,
  ],
  [
    'a jwt role of some functions',
    jwt({ claims: { bound_lambda_function_arn: [`${LAMBDA}:function:a*`] } }),
    false,
  ],
  [
    'a jwt role of all functions of an account',
    jwt({ claims: { bound_lambda_function_arn: [`${LAMBDA}:function:a`, `${LAMBDA}:function:*`] } }),
    true,
  ],
  ['a jwt role of any function', jwt({ claims: { bound_lambda_function_arn: ['*'] } }), true],
  [
    'a jwt role of a principal with any function',
    jwt({ boundIamPrincipalArns: [`${IAM}:role/a`], claims: { bound_lambda_function_arn: ['*'] } }),
    false,
  ],
  ['a jwt role with tags', jwt({ claims: { bound_principal_tags: { team: ['a'] } } }), false],
  ['a jwt role of a source identity', jwt({ claims: { bound_source_identity: ['ann'] } }), true],
  [
    'a jwt role of a principal and a source identity',
    jwt({ boundIamPrincipalArns: [`${IAM}:role/a`], claims: { bound_source_identity: ['ann'] } }),
    false,
  ],
  ['a jwt role of a person', jwt({ claims: { bound_identity_store_user_id: ['1'] } }), false],
])('%s', (_, role, whole) => {
  expect(findWideBounds(role).length > 0).toBe(whole)
})

test('the bounds of a wide role are named', () => {
  const role = jwt({
    ...all,
    bound: { ...noBindings, ...account },
    claims: { bound_metadata_version: ['2'] },
  })
  expect(findWideBounds(role)).toEqual([
    'bound_account_id',
    'bound_metadata_version',
    'bound_iam_principal_arn',
  ])
})
