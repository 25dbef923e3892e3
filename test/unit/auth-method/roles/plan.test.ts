import { describe, expect, test } from 'vitest'
import {
  APP,
  rawEc2 as ec2,
  rawIam as iam,
  rawInferring as inferring,
  plan,
  type Raw,
  write,
} from '../../../builders/role-plans.ts'

const CONSTRAINTS = [
  'bound_account_id',
  'bound_ami_id',
  'bound_ec2_instance_id',
  'bound_iam_instance_profile_arn',
  'bound_iam_role_arn',
  'bound_region',
  'bound_subnet_id',
  'bound_vpc_id',
]

describe('creating a role', () => {
  test('a new role has the documented defaults', () => {
    const { role, resolve, warnings } = plan({ bound_iam_principal_arn: APP })
    expect(role).toMatchObject({
      authType: 'iam',
      boundIamPrincipalArns: [APP],
      boundIamPrincipalIds: [],
      inferredEntityType: '',
      inferredAwsRegion: '',
      resolveAwsUniqueIds: true,
      roleId: 'fresh id',
      hmacKey: 'fresh key',
      roleTag: '',
      allowInstanceMigration: false,
      disallowReauthentication: false,
    })
    expect([resolve, warnings]).toEqual([[APP], []])
  })

  test('a new role on a legacy mount type has auth_type ec2', () => {
    expect(write({ bound_ami_id: 'ami-1' }, undefined, 'ec2').role.authType).toBe('ec2')
    expect(write(iam, undefined, 'ec2').role.authType).toBe('iam')
  })

  test.each(CONSTRAINTS)('%s alone is enough for ec2 roles and for iam roles that infer instances', name => {
    const { bound_iam_principal_arn: _, ...only } = inferring
    expect(plan({ auth_type: 'ec2', [name]: 'x' }).role.bound).toMatchObject({ [name]: ['x'] })
    expect(plan({ ...only, [name]: ['x', ' y ', 'x', ''] }).role.bound).toMatchObject({ [name]: ['x', 'y'] })
    expect(() => plan({ ...iam, [name]: 'x' })).toThrow(
      `${name} applies only to ec2 roles or roles that infer`,
    )
  })

  test.each<[string, Raw, string]>([
    ['no constraint', {}, 'at least one bound constraint'],
    ['an empty constraint', { bound_iam_principal_arn: '' }, 'at least one bound constraint'],
    ['ec2 without constraint', { auth_type: 'ec2' }, 'at least one bound constraint'],
    [
      'inferring without constraint',
      { inferred_entity_type: 'ec2_instance', inferred_aws_region: 'eu-west-1' },
      'at least one bound constraint',
    ],
    ['another type', { ...iam, auth_type: 'ecs' }, 'auth_type must be ec2 or iam'],
    [
      'an own role of instances without inferring',
      { ...iam, allow_instance_identity_role: true },
      'allow_instance_identity_role applies only to iam roles that infer an ec2 instance',
    ],
    [
      'an own role of instances on ec2',
      { ...ec2, allow_instance_identity_role: true },
      'allow_instance_identity_role applies only to iam roles that infer an ec2 instance',
    ],
    [
      'an own role of instances with a principal',
      { ...inferring, allow_instance_identity_role: true },
      'allow_instance_identity_role and bound_iam_principal_arn exclude each other',
    ],
    [
      'an own role of instances without constraint',
      { ...inferring, bound_iam_principal_arn: '', allow_instance_identity_role: true },
      'at least one bound constraint',
    ],
    ['an empty type', { ...iam, auth_type: '' }, 'auth_type must be ec2 or iam'],
    ['a principal on ec2', { ...ec2, bound_iam_principal_arn: APP }, 'applies only to iam roles'],
    [
      'inferring on ec2',
      { ...ec2, inferred_entity_type: 'ec2_instance', inferred_aws_region: 'eu-west-1' },
      'inferred_entity_type applies only to iam',
    ],
    ['inferring something else', { ...inferring, inferred_entity_type: 'lambda' }, 'must be ec2_instance'],
    [
      'inferring in another case',
      { ...inferring, inferred_entity_type: 'EC2_INSTANCE' },
      'must be ec2_instance',
    ],
    [
      'inferring without region',
      { ...iam, inferred_entity_type: 'ec2_instance' },
      'needs inferred_aws_region',
    ],
    [
      'a region without inferring',
      { ...iam, inferred_aws_region: 'eu-west-1' },
      'needs inferred_entity_type',
    ],
    [
      'a region that is none',
      { ...inferring, inferred_aws_region: 'eu-west-1.evil.example' },
      'is not a region',
    ],
    [
      'migration and no reauthentication',
      { ...ec2, allow_instance_migration: true, disallow_reauthentication: true },
      'exclude each other',
    ],
    ['migration on iam', { ...iam, allow_instance_migration: true }, 'applies only to ec2'],
    ['no reauthentication on iam', { ...iam, disallow_reauthentication: true }, 'applies only to ec2'],
    ['a role tag on iam', { ...iam, role_tag: 'Tag' }, 'role_tag is valid only for ec2'],
    ['a role tag on iam that infers', { ...inferring, role_tag: 'Tag' }, 'role_tag is valid only for ec2'],
    ['a long role tag', { ...ec2, role_tag: 'x'.repeat(128) }, 'longer than 127'],
    ['a wrong token type', { ...iam, token_type: 'default-service' }, 'token_type must be'],
    [
      'a token lifetime above its maximum',
      { ...iam, token_ttl: 2, token_max_ttl: 1 },
      'token_ttl must not be greater',
    ],
    ['the policy root', { ...iam, token_policies: 'dev, ROOT' }, 'must not contain root'],
  ])('%s is rejected', (_, raw, text) => {
    expect(() => plan(raw)).toThrow(text)
  })

  test.each([
    'role_tag',
    'allow_instance_migration',
    'disallow_reauthentication',
    'inferred_entity_type',
    'inferred_aws_region',
  ])('the neutral value of %s is accepted by roles that do not use it', name => {
    expect(plan({ ...iam, [name]: '' }).role.authType).toBe('iam')
    if (name.startsWith('inferred')) expect(plan({ ...ec2, [name]: '' }).role.authType).toBe('ec2')
  })

  test('a list may be comma-separated text, and duplicates are dropped with case kept', () => {
    const { role } = plan({ auth_type: 'EC2', bound_ami_id: 'ami-B, ami-a,,ami-B' })
    expect([role.authType, role.bound.bound_ami_id]).toEqual(['ec2', ['ami-B', 'ami-a']])
  })

  test('a role that admits only instances binds no principal, and the field can be cleared', () => {
    const { bound_iam_principal_arn: _, ...bare } = inferring
    const own = { ...bare, bound_account_id: '111122223333', allow_instance_identity_role: true }
    expect(plan(own).role).toMatchObject({ allowInstanceIdentityRole: true, boundIamPrincipalArns: [] })
    const cleared = plan(own, { allow_instance_identity_role: false }).role
    expect(cleared).not.toHaveProperty('allowInstanceIdentityRole')
    expect(plan(own, { bound_ami_id: 'ami-1' }).role).toHaveProperty('allowInstanceIdentityRole')
    expect(() => plan(own, { bound_iam_principal_arn: APP })).toThrow('exclude each other')
  })

  test.each([
    ['bound_organization_id', 'o-a1b2c3d4e5', 'o-1'],
    ['bound_organization_path', 'o-a1b2c3d4e5/r-ab12/ou-ab12-11111111', 'r-ab12'],
  ])('%s is enough for iam and ec2 roles, and its value is checked', (name, right, wrong) => {
    for (const auth_type of ['iam', 'ec2']) {
      expect(plan({ auth_type, [name]: right }).role.claims).toEqual({ [name]: [right] })
      expect(() => plan({ auth_type, [name]: wrong })).toThrow(`${name}: `)
    }
    const WIDE = 'the role admits every user and role of the bound accounts or organizations'
    expect(plan({ [name]: right }).warnings).toEqual([WIDE])
    expect(plan({ auth_type: 'ec2', [name]: right }).warnings).toEqual([])
    expect(plan({ ...iam, [name]: right }).warnings).toEqual([])
  })

  test('an own role of instances needs a bound of instances besides an organization', () => {
    const { bound_iam_principal_arn: _, ...bare } = inferring
    const raw = { ...bare, allow_instance_identity_role: true, bound_organization_id: 'o-a1b2c3d4e5' }
    expect(() => plan(raw)).toThrow('needs one of instances')
    expect(plan({ ...raw, bound_ami_id: 'ami-1' }).role.claims).toBeDefined()
  })

  test('a role_tag of 127 characters is accepted', () => {
    expect(plan({ ...ec2, role_tag: 'x'.repeat(127) }).role.roleTag.length).toBe(127)
  })
})

describe('wildcards of principals', () => {
  test.each([
    'arn:aws:iam::111122223333:*',
    'arn:aws:iam::111122223333:role/*',
    'arn:aws-us-gov:iam::111122223333:user/team/*',
  ])('%s is accepted, because its wildcard follows the account ID', arn => {
    expect(plan({ bound_iam_principal_arn: arn })).toMatchObject({ resolve: [] })
  })

  test.each([
    '*',
    'arn:*',
    'arn:aws:iam::*',
    'arn:aws:iam::1111*',
    'arn:aws:iam::111122223333*',
    'arn:aws:iam:*:111122223333:role/*',
  ])('%s is rejected, because the ARN would match every account or none', arn => {
    expect(() => plan({ bound_iam_principal_arn: [APP, arn] })).toThrow('must come after the account ID')
  })

  test.each([
    ['arn:aws:sts::111122223333:assumed-role/app/*', 'arn:aws:iam::111122223333:role/app,'],
    ['arn:aws-cn:sts::111122223333:assumed-role/app*', 'arn:aws-cn:iam::111122223333:role/app*,'],
    ['arn:aws:sts::111122223333:assumed-role/*', 'arn:aws:iam::111122223333:role/*,'],
    ['arn:aws:sts::111122223333:*', 'arn:aws:iam::111122223333:role/*,'],
  ])('%s names sessions and is rejected, with the role ARN %s to use instead', (arn, instead) => {
    expect(() => plan({ bound_iam_principal_arn: [APP, arn] })).toThrow(`use ${instead}`)
  })
})

describe('warnings', () => {
  test.each<[string, Raw, string[]]>([
    [
      'token_max_ttl above the mount’s maximum',
      { ...iam, token_max_ttl: 1001 },
      ['token_max_ttl (1001 s) exceeds'],
    ],
    [
      'a wildcard of everything',
      { auth_type: 'ec2', bound_iam_role_arn: '*' },
      ['bound_iam_role_arn of "*" matches everything'],
    ],
    [
      'a path that is not compared',
      { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/team/app', resolve_aws_unique_ids: false },
      [`matches nobody; use ${APP}`],
    ],
    [
      'an ARN of nobody',
      { bound_iam_principal_arn: 'bob', resolve_aws_unique_ids: false },
      ['bob is not the ARN of a user or role'],
    ],
    ['nothing', iam, []],
  ])('%s', (_, raw, texts) => {
    const { warnings } = plan(raw)
    expect(warnings.length).toBe(texts.length)
    for (const [at, text] of texts.entries()) expect(warnings[at]).toContain(text)
  })
})

test.each<[field: string, raw: Raw]>([
  ['bound_region', { auth_type: 'ec2', bound_region: 'us-east-1,us-iso-east-1' }],
  ['inferred_aws_region', { ...inferring, inferred_aws_region: 'us-iso-east-1' }],
  ['bound_iam_principal_arn', { bound_iam_principal_arn: 'arn:aws-iso:iam::111122223333:role/*' }],
  ['bound_iam_role_arn', { auth_type: 'ec2', bound_iam_role_arn: 'arn:aws-iso:iam::111122223333:role/a' }],
  [
    'bound_iam_instance_profile_arn',
    { auth_type: 'ec2', bound_iam_instance_profile_arn: 'arn:aws-iso:iam:*' },
  ],
])("%s in an unsupported partition is rejected with the partition's name", (field, raw) => {
  expect(() => plan(raw)).toThrow(
    new RegExp(`^${field}: \\S+ belongs to the partition aws-iso, which is not supported; `),
  )
})
