import type { Bound } from '../auth-method/roles/bindings.ts'
import type { TokenParameters } from '../tokens/terms.ts'
import type { Encrypted } from '../values/secret.ts'

/** Who may log in, and what the token is like. @see docs/spec/roles.md */
export interface Role {
  authType: 'ec2' | 'iam'
  bound: Bound
  boundIamPrincipalArns: readonly string[]
  /** unique IDs that the ARNs were resolved to */
  boundIamPrincipalIds: readonly string[]
  inferredEntityType: '' | 'ec2_instance'
  inferredAwsRegion: string
  /** absent in roles that pre-date the option: false */
  resolveAwsUniqueIds?: boolean
  /** UUID, new when a role is deleted and made again */
  roleId: string
  /** key of the role's tags: the bytes of a UUID's text */
  hmacKey: Encrypted
  /** key of the instance tag that carries a role tag; empty: none */
  roleTag: string
  allowInstanceMigration: boolean
  disallowReauthentication: boolean
  token: TokenParameters
}

/** Whether ec2 constraints are checked for a role: for ec2, and for iam that infers an instance. */
export const checksInstances = (role: Pick<Role, 'authType' | 'inferredEntityType'>): boolean =>
  role.authType === 'ec2' || role.inferredEntityType !== ''
