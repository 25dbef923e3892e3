import { describe, expect, test } from 'vitest'
import { defaultIdentityConfig } from '../../../../shared/auth-method/login/metadata.ts'
import { jwtAliasName } from '../../../../shared/auth-method/login-jwt/facts.ts'
import { type AwsClaims, readAwsClaims } from '../../../../shared/identity-proof/aws-claims.ts'
import type { JwtAliasKind } from '../../../../shared/model/config.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { iamRole } from '../../../builders/roles.ts'

const SUB = 'arn:aws:iam::111122223333:role/svc/app'
const INSTANCE = 'arn:aws:ec2:eu-west-1:111122223333:instance/i-0123456789abcdef0'
const FUNCTION = 'arn:aws:lambda:eu-west-1:111122223333:function:f'
const CLUSTER = 'arn:aws:eks:eu-west-1:111122223333:cluster/shop'
const PERSON = '74f8b4c8-5011-70c5-9d2e-0a1b2c3d4e5f'
const POD = {
  'eks-cluster-arn': CLUSTER,
  'kubernetes-namespace': 'web',
  'kubernetes-service-account': 'cart',
}
const POD_BOUNDS = {
  bound_eks_cluster_arn: [CLUSTER],
  bound_kubernetes_namespace: ['web'],
  bound_kubernetes_service_account: ['cart'],
}

const nameOf = (jwtAlias: JwtAliasKind, aws: Record<string, unknown>, bounds: Role['claims'] = {}): string =>
  jwtAliasName(
    { ...defaultIdentityConfig, jwtAlias },
    {
      sub: SUB,
      claims: readAwsClaims({ aws }) satisfies AwsClaims,
      role: { ...iamRole(), authType: 'jwt', claims: bounds },
    },
  )

const pod = (tags: object, bounds: Role['claims'] = POD_BOUNDS) =>
  nameOf('kubernetes_service_account', { principal_tags: { ...POD, ...tags } }, bounds)

describe('the name of an alias', () => {
  test.each<[JwtAliasKind, Record<string, unknown>, string]>([
    ['full_arn', {}, SUB],
    ['role_id', {}, iamRole().roleId],
    ['instance_id', { ec2_source_instance_arn: INSTANCE }, 'jwt:i-0123456789abcdef0'],
    ['lambda_function', { lambda_source_function_arn: FUNCTION }, `jwt:${FUNCTION}`],
    // tokens of people name no identity store
    ['identity_store_user', { identity_store_user_id: PERSON }, `jwt:${PERSON}`],
  ])('%s is a claim that AWS writes', (kind, aws, name) => {
    expect(nameOf(kind, aws)).toBe(name)
  })

  test('kubernetes_service_account consists of cluster, namespace and service account', () => {
    expect(pod({})).toBe(`jwt:${CLUSTER}/web/cart`)
  })

  test.each<JwtAliasKind>([
    'instance_id',
    'lambda_function',
    'kubernetes_service_account',
    'identity_store_user',
  ])('%s is empty if the token lacks the claim', kind => {
    expect(nameOf(kind, {}, POD_BOUNDS)).toBe('')
  })

  test.each<[string, object]>([
    ['an ARN of a principal instead of a cluster', { 'eks-cluster-arn': SUB }],
    ['a slash in the service account', { 'kubernetes-service-account': 'a/b' }],
    ['a slash in the namespace', { 'kubernetes-namespace': 'web/cart' }],
    ['an empty namespace', { 'kubernetes-namespace': '' }],
    ['capitals', { 'kubernetes-service-account': 'Cart' }],
    ['a line break', { 'kubernetes-service-account': 'cart\n' }],
  ])('is empty for tags with %s', (_, tags) => {
    expect(pod(tags)).toBe('')
  })

  test.each(Object.keys(POD_BOUNDS))('of a service account is empty at a role without %s', name => {
    expect(pod({}, { ...POD_BOUNDS, [name]: undefined })).toBe('')
  })

  test.each([`${PERSON}/x`, SUB, `${PERSON}\n`])('is empty for the person %j', id => {
    expect(nameOf('identity_store_user', { identity_store_user_id: id })).toBe('')
  })
})
