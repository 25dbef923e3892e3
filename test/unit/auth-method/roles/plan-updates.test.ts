import { describe, expect, test } from 'vitest'
import type { Role } from '../../../../shared/model/role.ts'
import {
  APP,
  rawEc2 as ec2,
  rawIam as iam,
  rawInferring as inferring,
  plan,
  type Raw,
  write,
} from '../../../builders/role-plans.ts'

describe('resolve_aws_unique_ids', () => {
  const wild = `${APP}*`
  test.each<[string, [Raw, ...Raw[]], boolean, string[]]>([
    ['a new role resolves', [iam], true, [APP]],
    [
      'all names but wildcards',
      [{ bound_iam_principal_arn: [APP, wild, `${APP}2`] }],
      true,
      [APP, `${APP}2`],
    ],
    ['not when it is switched off', [{ ...iam, resolve_aws_unique_ids: false }], false, []],
    ['an update without the list resolves nothing', [iam, { token_ttl: 1 }], true, []],
    ['the list given again is resolved again: a recreated principal', [iam, iam], true, [APP]],
    [
      'switched on later, it resolves what is stored',
      [{ ...iam, resolve_aws_unique_ids: false }, { resolve_aws_unique_ids: true }],
      true,
      [APP],
    ],
    [
      'still off, nothing',
      [{ ...iam, resolve_aws_unique_ids: false }, { resolve_aws_unique_ids: false }],
      false,
      [],
    ],
    ['on and on', [iam, { resolve_aws_unique_ids: true }], true, []],
  ])('%s', (_, requests, resolves, resolve) => {
    const planned = plan(...requests)
    expect([planned.role.resolveAwsUniqueIds, planned.resolve]).toEqual([resolves, resolve])
  })

  test('resolve_aws_unique_ids cannot be switched off', () => {
    expect(() => plan(iam, { resolve_aws_unique_ids: false })).toThrow('cannot be switched off')
  })

  test('a role stored before the option existed resolves no unique IDs until the option is switched on', () => {
    const { resolveAwsUniqueIds: _, ...old } = plan({ ...iam, resolve_aws_unique_ids: false }).role
    expect(write({ token_ttl: 1 }, old).role.resolveAwsUniqueIds).toBe(false)
    expect(write({ resolve_aws_unique_ids: true }, old).resolve).toEqual([APP])
  })

  test('a new principal list discards the unique IDs of the old list', () => {
    expect(plan(iam, { bound_iam_principal_arn: wild }).role.boundIamPrincipalIds).toEqual([])
    expect(plan(iam, { token_ttl: 1 }).role.boundIamPrincipalIds).toEqual(['AROAOLD'])
  })
})

describe('partially updating a role', () => {
  const full = {
    ...ec2,
    bound_vpc_id: 'vpc-1',
    role_tag: 'Tag',
    allow_instance_migration: true,
    token_ttl: 7,
  }
  test('omitted fields, the role ID and the tag key are kept', () => {
    const { role } = plan(full, { bound_ami_id: ['ami-2'] })
    expect(role).toEqual({ ...plan(full).role, bound: { ...plan(full).role.bound, bound_ami_id: ['ami-2'] } })
    expect([role.roleId, role.hmacKey]).toEqual(['fresh id', 'fresh key'])
  })

  test.each<[string, Raw, Partial<Role>]>([
    ['role_tag', { role_tag: '' }, { roleTag: '' }],
    ['allow_instance_migration', { allow_instance_migration: false }, { allowInstanceMigration: false }],
    ['null for a flag', { allow_instance_migration: null }, { allowInstanceMigration: false }],
  ])('an empty value clears %s', (_, raw, expected) => {
    expect(plan(full, raw).role).toMatchObject(expected)
  })

  test.each<[string, [Raw, ...Raw[]], string]>([
    ['another type', [ec2, { auth_type: 'iam' }], 'cannot be changed'],
    ['the last constraint emptied', [ec2, { bound_ami_id: [] }], 'at least one bound constraint'],
    [
      'both flags, one by one',
      [{ ...ec2, allow_instance_migration: true }, { disallow_reauthentication: true }],
      'exclude each other',
    ],
    [
      'inferring switched off under its constraints',
      [
        { ...inferring, bound_ami_id: 'a' },
        { inferred_entity_type: '', inferred_aws_region: '' },
      ],
      'bound_ami_id applies only',
    ],
    [
      'a region taken away from inferring',
      [inferring, { inferred_aws_region: '' }],
      'needs inferred_aws_region',
    ],
  ])('%s is rejected', (_, requests, text) => {
    expect(() => plan(...requests)).toThrow(text)
  })

  test('sending the unchanged auth_type is accepted', () => {
    expect(plan(ec2, { auth_type: 'ec2' }).role.authType).toBe('ec2')
  })
})
