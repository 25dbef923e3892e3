import { beforeAll, describe, expect, test } from 'vitest'
import { ec2Role, iamRole } from '../../support/requests/things.ts'
import { api, aws, done, fresh, freshMount } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

const arn = 'arn:aws:iam::111122223333:role/app*'
const iam = { bound_iam_principal_arn: arn }
const ec2 = { auth_type: 'ec2', bound_ami_id: 'ami-1' }
const infers = { inferred_entity_type: 'ec2_instance', inferred_aws_region: 'eu-west-1' }
const kind = (field: string, what: string) => `Field validation failed: ${field} must be ${what}`
const MAX = 768 * 3600

const ec2Only = [
  'bound_account_id',
  'bound_ami_id',
  'bound_region',
  'bound_vpc_id',
  'bound_subnet_id',
  'bound_iam_role_arn',
  'bound_iam_instance_profile_arn',
  'bound_ec2_instance_id',
]

type Rule = [why: string, body: Record<string, unknown>, message: string]

const anew: readonly Rule[] = [
  ['no bound', {}, 'at least one bound constraint is required'],
  ['no bound for an ec2 role', { auth_type: 'ec2' }, 'at least one bound constraint is required'],
  [
    'only empty bounds',
    { auth_type: 'ec2', bound_ami_id: [], bound_region: ' , ' },
    'at least one bound constraint is required',
  ],
  ['only inferencing', infers, 'at least one bound constraint is required'],
  ['another type', { ...iam, auth_type: 'gcp' }, 'auth_type must be ec2 or iam'],
  ...ec2Only.map(
    (field): Rule => [
      `${field} of an iam role`,
      { ...iam, [field]: 'x' },
      `${field} applies only to ec2 roles or roles that infer an ec2 instance`,
    ],
  ),
  ['principals of an ec2 role', { ...ec2, ...iam }, 'bound_iam_principal_arn applies only to iam roles'],
  ['inferencing of an ec2 role', { ...ec2, ...infers }, 'inferred_entity_type applies only to iam roles'],
  [
    'another inferred type',
    { ...iam, ...infers, inferred_entity_type: 'EC2_instance' },
    'inferred_entity_type must be ec2_instance',
  ],
  [
    'inferencing without a region',
    { ...iam, inferred_entity_type: 'ec2_instance' },
    'inferred_entity_type needs inferred_aws_region',
  ],
  [
    'a region without inferencing',
    { ...iam, inferred_aws_region: 'eu-west-1' },
    'inferred_aws_region needs inferred_entity_type',
  ],
  [
    'an invalid region',
    { ...iam, ...infers, inferred_aws_region: 'x.evil.example' },
    'inferred_aws_region is not a region',
  ],
  [
    'both reauthentication settings',
    { ...ec2, allow_instance_migration: true, disallow_reauthentication: true },
    'allow_instance_migration and disallow_reauthentication exclude each other',
  ],
  [
    'migration of an iam role',
    { ...iam, allow_instance_migration: true },
    'allow_instance_migration applies only to ec2 roles',
  ],
  [
    'reauthentication of an iam role',
    { ...iam, disallow_reauthentication: 1 },
    'disallow_reauthentication applies only to ec2 roles',
  ],
  ['a role tag of an iam role', { ...iam, role_tag: 'x' }, 'role_tag is valid only for ec2 roles'],
  [
    'a long role tag',
    { ...ec2, role_tag: 'x'.repeat(128) },
    'role_tag must not be longer than 127 characters',
  ],
  [
    'a wildcard before the account',
    { bound_iam_principal_arn: ['arn:aws:iam::*'] },
    'bound_iam_principal_arn: the wildcard in arn:aws:iam::* must come after the account ID',
  ],
  [
    'a wildcard for every principal',
    { bound_iam_principal_arn: '*' },
    'bound_iam_principal_arn: the wildcard in * must come after the account ID',
  ],
  [
    'a wildcard inside the account ID',
    { bound_iam_principal_arn: 'arn:aws:iam::11112222*' },
    'bound_iam_principal_arn: the wildcard in arn:aws:iam::11112222* must come after the account ID',
  ],
  [
    'a wildcard for the sessions of a role',
    { bound_iam_principal_arn: 'arn:aws:sts::111122223333:assumed-role/x/*' },
    'bound_iam_principal_arn: arn:aws:sts::111122223333:assumed-role/x/* names sessions, but a wildcard is compared with the role of a session: use arn:aws:iam::111122223333:role/x, including the path of the role if it has one; that ARN admits all sessions of the role',
  ],
  [
    'a wildcard for the sessions of several roles',
    { bound_iam_principal_arn: 'arn:aws-cn:sts::111122223333:assumed-role/x*' },
    'bound_iam_principal_arn: arn:aws-cn:sts::111122223333:assumed-role/x* names sessions, but a wildcard is compared with the role of a session: use arn:aws-cn:iam::111122223333:role/x*, including the path of the role if it has one; that ARN admits all sessions of the role',
  ],
  [
    'a principal that is not an ARN',
    { bound_iam_principal_arn: 'x' },
    'cannot resolve unique ID of x: not the ARN of a user, a role or an instance profile',
  ],
  [
    'an invalid network',
    { ...iam, token_bound_cidrs: '10.0.0.0/33' },
    'token_bound_cidrs must hold addresses or networks',
  ],
  [
    'a host name as network',
    { ...iam, token_bound_cidrs: ['127.0.0.1', 'localhost'] },
    'token_bound_cidrs must hold addresses or networks',
  ],
  [
    'a TTL above its maximum',
    { ...iam, token_ttl: 61, token_max_ttl: '1m' },
    'token_ttl must not be greater than token_max_ttl',
  ],
  [
    'a TTL above its maximum by their old names',
    { ...iam, ttl: 61, max_ttl: '1m' },
    'token_ttl must not be greater than token_max_ttl',
  ],
  [
    'a period above the mount’s maximum',
    { ...iam, token_period: MAX + 1 },
    `token_period must not exceed the mount’s maximum (${MAX} s)`,
  ],
  ['a negative number of uses', { ...iam, token_num_uses: -1 }, 'token_num_uses must not be negative'],
  [
    'another token type',
    { ...iam, token_type: 'default-service' },
    'token_type must be service, batch or default',
  ],
  [
    'a periodic batch token',
    { ...iam, token_type: 'batch', token_period: 60 },
    'batch tokens can have neither token_period nor token_num_uses',
  ],
  [
    'a batch token with a use limit',
    { ...iam, token_type: 'batch', token_num_uses: 1 },
    'batch tokens can have neither token_period nor token_num_uses',
  ],
  ...['root', 'ROOT', ' Root ', 'dev,root'].flatMap((policies): Rule[] => [
    [
      `the policy "${policies}"`,
      { ...iam, token_policies: policies },
      'token_policies must not contain root',
    ],
    [
      `the policy "${policies}" by its old name`,
      { ...iam, policies: [policies] },
      policies.includes(',')
        ? 'token_policies: a policy name may contain visible ASCII characters other than ":" and ",", and spaces except at either end'
        : 'token_policies must not contain root',
    ],
  ]),
  ...['a:b', 'a\u0000b', 'ünï', 'a\tb'].map(
    (name): Rule => [
      `the policy ${JSON.stringify(name)}`,
      { ...iam, token_policies: [name] },
      'token_policies: a policy name may contain visible ASCII characters other than ":" and ",", and spaces except at either end',
    ],
  ),
  ...['token_ttl', 'token_max_ttl', 'token_period', 'token_explicit_max_ttl', 'ttl', 'max_ttl', 'period'].map(
    (field): Rule => [`a negative ${field}`, { ...iam, [field]: -1 }, kind(field, 'a duration')],
  ),
  ['a list of objects', { ...ec2, bound_ami_id: [{}] }, kind('bound_ami_id', 'a list of strings')],
  [
    'a flag that is not boolean',
    { ...iam, resolve_aws_unique_ids: 'no' },
    kind('resolve_aws_unique_ids', 'a boolean'),
  ],
]

describe('creating a role is rejected, and stores nothing, with', () => {
  test.each(anew)('%s', async (_, body, message) => {
    const path = `${mount}/role/${fresh('r')}`
    const reply = await api('POST', path, body)
    expect([reply.status, reply.body.errors]).toEqual([400, [message]])
    expect((await api('GET', path)).status).toBe(404)
  })
})

const changes: readonly [from: Record<string, unknown>, body: Record<string, unknown>, message: string][] = [
  [ec2Role.body, { token_ttl: 1, auth_type: 'iam' }, 'auth_type of an existing role cannot be changed'],
  [
    iamRole.body,
    { auth_type: 'ec2', bound_ami_id: 'x', bound_iam_principal_arn: '' },
    'auth_type of an existing role cannot be changed',
  ],
  [
    iamRole.body,
    { ttl: 1, resolve_aws_unique_ids: false },
    'resolve_aws_unique_ids cannot be switched off; recreate the role',
  ],
  [iamRole.body, { bound_iam_principal_arn: [] }, 'at least one bound constraint is required'],
  [
    ec2Role.body,
    { disallow_reauthentication: true },
    'allow_instance_migration and disallow_reauthentication exclude each other',
  ],
  [
    { ...iam, ...infers, bound_ami_id: 'x' },
    { inferred_entity_type: '', inferred_aws_region: '' },
    'bound_ami_id applies only to ec2 roles or roles that infer an ec2 instance',
  ],
  [
    { ...iam, token_max_ttl: 60 },
    { token_policies: 'x', token_ttl: 61 },
    'token_ttl must not be greater than token_max_ttl',
  ],
  [
    { ...iam, token_type: 'batch' },
    { token_num_uses: 3 },
    'batch tokens can have neither token_period nor token_num_uses',
  ],
]

describe('an invalid change is rejected, and the role stays unchanged', () => {
  test.each(changes)('%j: %j', async (from, body, message) => {
    const path = `${mount}/role/${fresh('r')}`
    await done('POST', path, from)
    const before = (await done('GET', path)).body.data
    const reply = await api('POST', path, body)
    expect([reply.status, reply.body.errors]).toEqual([400, [message]])
    expect((await done('GET', path)).body.data).toEqual(before)
  })

  test('a rejected write calls no AWS service', async () => {
    const name = fresh('role')
    const body = { bound_iam_principal_arn: `arn:aws:iam::111122223333:role/${name}` }
    const lookUps = async () =>
      (await aws.calls({ since: 0 })).calls.filter(call => call.body.includes(name)).length
    expect((await api('POST', `${mount}/role/${fresh('r')}`, { ...body, token_type: 'x' })).status).toBe(400)
    expect(await lookUps()).toBe(0)
    expect((await api('POST', `${mount}/role/${fresh('r')}`, body)).status).toBe(400)
    expect(await lookUps()).toBe(1)
  })
})
