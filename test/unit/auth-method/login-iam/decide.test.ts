import { describe, expect, test } from 'vitest'
import { enforceChecks, reportVerdicts } from '../../../../shared/auth-method/login/checks.ts'
import {
  decideIamLogin,
  iamChecksAfterLookUp,
  iamChecksBeforeLookUp,
} from '../../../../shared/auth-method/login-iam/decide.ts'
import type { CompleteIamFacts, InferredInstance } from '../../../../shared/auth-method/login-iam/facts.ts'
import { inferredInstanceId } from '../../../../shared/auth-method/login-iam/principal.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'
import { callerOf, iamFacts, usualArn } from '../../../builders/iam-facts.ts'
import { ec2Role, iamRole, inferringRole } from '../../../builders/roles.ts'

const reasons = (parts: Partial<CompleteIamFacts>) => {
  const facts = iamFacts(parts)
  const { fullArn: _, inferred: __, ...early } = facts
  return [
    ...reportVerdicts(iamChecksBeforeLookUp, early),
    ...reportVerdicts(iamChecksAfterLookUp, facts),
  ].flatMap(({ reason }) => reason ?? [])
}
const decide = (parts: Partial<CompleteIamFacts> = {}) =>
  decideIamLogin(
    enforceChecks(iamChecksAfterLookUp, enforceChecks(iamChecksBeforeLookUp, iamFacts(parts))),
    'auth/cloud/login',
  )

const inferred: InferredInstance = {
  instance: usualInstance,
  instanceId: usualInstance.id,
  region: 'eu-west-1',
  account: '111122223333',
}

describe('checks of an iam login', () => {
  const user = callerOf('arn:aws:iam::111122223333:user/team/bob', 'AIDAEXAMPLE')
  const wild = iamRole({
    boundIamPrincipalIds: [],
    boundIamPrincipalArns: ['arn:aws:iam::111122223333:role/team/*'],
  })
  test.each<[string, Partial<CompleteIamFacts>, string[]]>([
    ['a bound principal', {}, []],
    [
      'an address outside the role’s networks',
      { role: iamRole({ token: { boundCidrs: ['10.0.0.0/8'] } }) },
      ['source-address'],
    ],
    [
      'an address inside the role’s networks',
      { role: iamRole({ token: { boundCidrs: ['192.0.2.0/24'] } }) },
      [],
    ],
    ['a role of root', { role: iamRole({ token: { policies: ['Root'] } }) }, ['root-policy']],
    ['a login without name for its alias', { aliasName: '' }, ['no-alias']],
    ['another principal', { caller: user }, ['principal-not-bound']],
    ['a bound user', { caller: user, role: iamRole({ boundIamPrincipalIds: ['AIDAEXAMPLE'] }) }, []],
    [
      'a wildcard and a path that fits',
      { role: wild, fullArn: 'arn:aws:iam::111122223333:role/team/app' },
      [],
    ],
    [
      'a wildcard and another path',
      { role: wild, fullArn: 'arn:aws:iam::111122223333:role/app' },
      ['principal-not-bound'],
    ],
    ['a wildcard and no look-up at all', { role: wild }, ['principal-not-bound']],
  ])('login of %s: $2', (_, parts, expected) => {
    expect(reasons(parts)).toEqual(expected)
  })

  test('an iam login for an ec2 role is rejected', () => {
    expect(reasons({ role: ec2Role() })[0]).toBe('role-type')
  })
})

describe('checks of an inferred instance', () => {
  const role = inferringRole({ bound: { bound_region: ['eu-west-1'], bound_account_id: ['111122223333'] } })
  test.each<[string, Partial<CompleteIamFacts>, string[]]>([
    ['a running instance that satisfies the role', { role, inferred }, []],
    [
      'a stopped instance',
      { role, inferred: { ...inferred, instance: { ...usualInstance, state: 'stopped' } } },
      ['instance-not-running'],
    ],
    [
      'an instance that EC2 does not know',
      { role, inferred: { ...inferred, instance: undefined } },
      ['instance-not-running'],
    ],
    [
      'another instance than the session’s',
      { role, inferred: { ...inferred, instance: { ...usualInstance, id: 'i-11111111' } } },
      ['instance-not-running'],
    ],
    ['another region', { role, inferred: { ...inferred, region: 'us-east-1' } }, ['not-bound_region']],
    [
      'another account',
      { role, inferred: { ...inferred, account: '444455556666' } },
      ['not-bound_account_id'],
    ],
    [
      'another AMI',
      { role: inferringRole({ bound: { bound_ami_id: ['ami-1'] } }), inferred },
      ['not-bound_ami_id'],
    ],
    ['no look-up at all', { role: inferringRole() }, ['instance-not-running']],
  ])('inferred instance, %s: $2', (_, parts, expected) => {
    expect(reasons(parts)).toEqual(expected)
  })

  test('a role with both bindings requires the principal and the instance to match', () => {
    const other = inferringRole({ boundIamPrincipalIds: ['AROAOTHER'] })
    expect(reasons({ role: other, inferred })).toEqual(['principal-not-bound'])
  })

  test('a role may have instance bindings only', () => {
    const only = inferringRole({
      boundIamPrincipalArns: [],
      boundIamPrincipalIds: [],
      bound: { bound_vpc_id: ['vpc-1'] },
    })
    expect(reasons({ role: only, inferred })).toEqual([])
  })

  test('a role without inference makes no instance checks', () => {
    expect(reasons({ inferred: { ...inferred, instance: undefined } })).toEqual([])
  })

  test.each([
    ['i-0123456789abcdef0', 'i-0123456789abcdef0'],
    ['i-01234567', 'i-01234567'],
    ['i-0123456', undefined],
    ['i-0123456789abcdef01', undefined],
    ['I-0123456789ABCDEF0', undefined],
    ['i-0123456789ABCDEF0', undefined],
    ['xi-0123456789abcdef0', undefined],
    ['deploy', undefined],
  ])('the session name %s gives the instance ID %s', (session, id) => {
    const caller = callerOf(usualArn.replace(/[^/]+$/, session))
    expect(inferredInstanceId(caller)).toBe(id)
    const found =
      id === undefined
        ? {}
        : { inferred: { ...inferred, instanceId: id, instance: { ...usualInstance, id } } }
    expect(reasons({ role: inferringRole(), caller, ...found })[0]).toBe(
      id === undefined ? 'session-not-instance' : undefined,
    )
  })

  test('a user has no session and therefore no inferred instance', () => {
    expect(inferredInstanceId(callerOf('arn:aws:iam::111122223333:user/i-0123456789abcdef0'))).toBeUndefined()
  })
})

describe('the grant of an iam login', () => {
  test("a role session gets a token with the role's parameters", () => {
    expect(decide()).toEqual({
      path: 'auth/cloud/login',
      login: {
        authType: 'iam',
        role: 'dev',
        roleId: iamRole().roleId,
        account: '111122223333',
        canonicalArn: 'arn:aws:iam::111122223333:role/app',
        clientUserId: 'AROAEXAMPLE',
      },
      displayName: 'app/i-0123456789abcdef0',
      metadata: { role_id: iamRole().roleId, account_id: '111122223333', auth_type: 'iam' },
      disclosed: {},
      alias: { name: 'alias', metadata: { account_id: '111122223333', auth_type: 'iam' } },
      terms: iamRole().token,
      source: '192.0.2.1',
    })
  })

  test('the display name of a user is its name', () => {
    expect(decide({ caller: callerOf('arn:aws:iam::111122223333:user/a/b/bob') }).displayName).toBe('bob')
  })

  test("the grant has the role's token parameters", () => {
    const token = { ttl: 1, maxTtl: 2, boundCidrs: ['192.0.2.0/24'], noDefaultPolicy: true }
    const role = iamRole({ token })
    expect(decide({ role }).terms).toEqual(role.token)
  })

  const identity = {
    ...iamFacts().identity,
    iamMetadata: [
      'canonical_arn',
      'client_arn',
      'client_user_id',
      'inferred_aws_region',
      'inferred_entity_id',
      'inferred_entity_type',
    ],
  }
  const chosen = {
    canonical_arn: 'arn:aws:iam::111122223333:role/app',
    client_arn: usualArn,
    client_user_id: 'AROAEXAMPLE',
  }
  test('selected metadata is returned, with instance fields only if an instance was inferred', () => {
    expect(decide({ identity }).alias.metadata).toEqual(chosen)
    expect(decide({ identity, role: inferringRole(), inferred }).alias.metadata).toEqual({
      ...chosen,
      inferred_aws_region: 'eu-west-1',
      inferred_entity_id: usualInstance.id,
      inferred_entity_type: 'ec2_instance',
    })
  })

  test('without selected metadata only the role ID is returned', () => {
    const none = { ...iamFacts().identity, iamMetadata: [] }
    expect(decide({ identity: none }).metadata).toEqual({ role_id: iamRole().roleId })
    expect(decide({ identity: none }).alias.metadata).toEqual({})
  })

  test('the grant records the inferred instance for renewals', () => {
    expect(decide({ role: inferringRole(), inferred }).login).toMatchObject({
      instanceId: usualInstance.id,
      region: 'eu-west-1',
    })
  })
})
