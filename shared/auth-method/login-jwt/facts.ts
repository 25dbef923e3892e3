import { type AwsClaims, instanceIdOfArn } from '../../identity-proof/aws-claims.ts'
import type { VerifiedJwt } from '../../identity-proof/jwt.ts'
import type { IdentityConfig } from '../../model/config.ts'
import type { JwtConfig } from '../../model/jwt.ts'
import type { Role } from '../../model/role.ts'
import type { IamEntity } from '../../values/arn.ts'
import { jwtAliasOf, podTags } from '../config/identity-jwt.ts'
import type { CommonLoginFacts } from '../login/common-checks.ts'

/** The bearer of a verified token. */
export interface JwtBearer {
  token: VerifiedJwt
  claims: AwsClaims
  /** the user or role in `sub` */
  entity: IamEntity
  account: string
}

/** The facts of a login by token after the token is verified. */
export interface JwtFacts extends CommonLoginFacts {
  bearer: JwtBearer
  config: JwtConfig
  identity: IdentityConfig
  /** whether the login creates a batch token, which nobody renews */
  isBatch: boolean
  /** whether the token has logged in before */
  spent: boolean
  /** epoch milliseconds */
  now: number
}

/** The facts of which an alias name is made. */
export interface AliasSource {
  sub: string
  claims: AwsClaims
  role: Role
}

const POD_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/
const CLUSTER = /^arn:[a-z-]+:eks:[a-z0-9-]+:\d{12}:cluster\/[A-Za-z0-9_-]+$/
const USER = /^[A-Za-z0-9-]{1,47}$/

/**
 * Returns the name of the alias; empty if the token has no value for the name. Names that are not ARNs of principals
 * begin with `jwt:`, so no other login has the same name.
 */
export const jwtAliasName = (identity: IdentityConfig, { sub, claims, role }: AliasSource): string =>
  ({
    full_arn: () => sub,
    role_id: () => role.roleId,
    instance_id: () => prefixed(instanceIdOfArn(claims.instanceArn)),
    lambda_function: () => prefixed(claims.lambdaArn),
    kubernetes_service_account: () => prefixed(serviceAccountOf(claims, role)),
    identity_store_user: () => prefixed(identityStoreUserOf(claims)),
  })[jwtAliasOf(identity)]()

const prefixed = (value: string | undefined): string => (value === undefined ? '' : `jwt:${value}`)

// whoever may tag a session chooses these tags, so the role must bind all of them
function serviceAccountOf({ principalTags: tags }: AwsClaims, { claims = {} }: Role): string | undefined {
  const isBound =
    claims.bound_eks_cluster_arn &&
    claims.bound_kubernetes_namespace &&
    claims.bound_kubernetes_service_account
  const tagOf = (name: string) => (Object.hasOwn(tags, name) ? (tags[name] ?? '') : '')
  const cluster = tagOf(podTags.eks_cluster_arn)
  const names = [tagOf(podTags.kubernetes_namespace), tagOf(podTags.kubernetes_service_account)]
  if (!isBound || !CLUSTER.test(cluster) || !names.every(name => POD_NAME.test(name))) return undefined
  return [cluster, ...names].join('/')
}

// tokens of people lack the ARN of the identity store; AWS chooses the ID, which contains a UUID
const identityStoreUserOf = ({ identityStoreUserId: id = '' }: AwsClaims): string | undefined =>
  USER.test(id) ? id : undefined
