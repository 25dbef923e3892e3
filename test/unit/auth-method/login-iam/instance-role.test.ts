import { describe, expect, test } from 'vitest'
import { enforceChecks, reportVerdicts } from '../../../../shared/auth-method/login/checks.ts'
import {
  decideIamLogin,
  iamChecksAfterLookUp,
  iamChecksBeforeLookUp,
} from '../../../../shared/auth-method/login-iam/decide.ts'
import type { CompleteIamFacts } from '../../../../shared/auth-method/login-iam/facts.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'
import { callerOf, iamFacts, instanceCaller, usualArn } from '../../../builders/iam-facts.ts'
import { iamRole, inferringRole } from '../../../builders/roles.ts'

const caller = instanceCaller(usualInstance.id)
const noPrincipals = { boundIamPrincipalArns: [], boundIamPrincipalIds: [] }
const bound = { bound_account_id: ['111122223333'] }
const role = inferringRole({ ...noPrincipals, bound, allowInstanceIdentityRole: true })
const inferred = {
  instance: usualInstance,
  instanceId: usualInstance.id,
  region: 'eu-west-1',
  account: '111122223333',
}

const reasons = (parts: Partial<CompleteIamFacts>) => {
  const facts = iamFacts({ caller, role, inferred, ...parts })
  return [
    ...reportVerdicts(iamChecksBeforeLookUp, facts),
    ...reportVerdicts(iamChecksAfterLookUp, facts),
  ].flatMap(({ reason }) => reason ?? [])
}

const wild = (...boundIamPrincipalArns: string[]): Role =>
  iamRole({ boundIamPrincipalArns, boundIamPrincipalIds: [], resolveAwsUniqueIds: false })

describe('which role admits an instance with its own role', () => {
  test('a role with allow_instance_identity_role', () => {
    expect(reasons({})).toEqual([])
  })

  test.each<[string, Role]>([
    ['a role that infers instances', inferringRole({ ...noPrincipals, bound })],
    ['a role with a wildcard for all roles', wild('arn:aws:iam::111122223333:role/*')],
    ['a role with a wildcard for the account', wild('arn:aws:iam::111122223333:*')],
    ['a role that names the ARN', wild(caller.arn)],
    [
      'a role that names the account number as unique ID',
      iamRole({ boundIamPrincipalIds: ['111122223333'] }),
    ],
    ['a role that names the instance as unique ID', iamRole({ boundIamPrincipalIds: [usualInstance.id] })],
  ])('not %s', (_, other) => {
    expect(reasons({ role: other })).toContain('instance-identity-role')
  })

  test.each([
    ['a session named after the instance', usualArn],
    ['a user', 'arn:aws:iam::111122223333:user/bob'],
  ])('a role with allow_instance_identity_role does not admit %s', (_, arn) => {
    expect(reasons({ caller: callerOf(arn) })).toContain('instance-identity-role')
  })

  test.each<[string, Partial<CompleteIamFacts>, string]>([
    [
      'is stopped',
      { inferred: { ...inferred, instance: { ...usualInstance, state: 'stopped' } } },
      'instance-not-running',
    ],
    ['is unknown to EC2', { inferred: { ...inferred, instance: undefined } }, 'instance-not-running'],
    ['is in another account', { inferred: { ...inferred, account: '444455556666' } }, 'not-bound_account_id'],
  ])('an instance that %s is refused', (_, parts, why) => {
    expect(reasons(parts)).toEqual([why])
  })
})

test('the token of an instance names the instance', () => {
  const iamMetadata = ['account_id', 'canonical_arn', 'client_arn', 'client_user_id', 'inferred_entity_id']
  const facts = iamFacts({ caller, role, inferred })
  const grant = decideIamLogin(
    enforceChecks(iamChecksAfterLookUp, {
      ...enforceChecks(iamChecksBeforeLookUp, facts),
      identity: { ...facts.identity, iamMetadata },
    }),
    'auth/cloud/login',
  )
  const arn = `arn:aws:sts::111122223333:assumed-role/aws:ec2-instance/${usualInstance.id}`
  expect(grant).toMatchObject({
    displayName: `ec2-instance/${usualInstance.id}`,
    login: {
      caller: 'instance',
      account: '111122223333',
      canonicalArn: arn,
      clientUserId: usualInstance.id,
      instanceId: usualInstance.id,
      region: 'eu-west-1',
    },
    metadata: {
      account_id: '111122223333',
      canonical_arn: arn,
      client_arn: arn,
      client_user_id: usualInstance.id,
      inferred_entity_id: usualInstance.id,
    },
  })
})

test('the token of a principal has no kind of caller', () => {
  const facts = iamFacts({ inferred: undefined })
  const grant = decideIamLogin(
    enforceChecks(iamChecksAfterLookUp, enforceChecks(iamChecksBeforeLookUp, facts)),
    'auth/cloud/login',
  )
  expect(grant.login).not.toHaveProperty('caller')
})
