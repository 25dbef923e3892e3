import type { RoleBindings } from '../auth-method/roles/bindings.ts'
import type { ClaimBindings } from '../auth-method/roles/claim-bindings.ts'
import type { TokenParameters } from '../tokens/terms.ts'
import type { EncryptedText } from '../values/secret.ts'

export type LoginType = 'ec2' | 'iam' | 'jwt'

/**
 * A role: who may log in, and the parameters of the token.
 * @see docs/spec/roles.md
 */
export interface Role {
  authType: LoginType
  bound: RoleBindings
  /** `claims`: bindings of a role of type `jwt` to claims of tokens; absent: none */
  claims?: ClaimBindings
  /** `capToSession`: tokens of a role of type `jwt` end with the caller's role session; absent: false */
  capToSession?: boolean
  /** `revokeOnTermination`: tokens end with the instance that has logged in; absent: false */
  revokeOnTermination?: boolean
  boundIamPrincipalArns: readonly string[]
  /** `boundIamPrincipalIds`: unique IDs of the bound principals' ARNs */
  boundIamPrincipalIds: readonly string[]
  inferredEntityType: '' | 'ec2_instance'
  inferredAwsRegion: string
  /** `allowInstanceIdentityRole`: admits only instances with the credentials of their own role; absent: false */
  allowInstanceIdentityRole?: boolean
  /** `resolveAwsUniqueIds` is absent in roles that are older than the option: false */
  resolveAwsUniqueIds?: boolean
  /** UUID of the role; a role that is deleted and created again gets a new UUID */
  roleId: string
  /** `createdAt`, epoch milliseconds; absent in roles that are older than the field */
  createdAt?: number
  /** the key that authenticates the role's tags: the bytes of a UUID's text */
  hmacKey: EncryptedText
  /** `roleTag`: key of the instance tag that contains a role tag; empty: no role tag */
  roleTag: string
  allowInstanceMigration: boolean
  disallowReauthentication: boolean
  token: TokenParameters
}

/** Returns the bound principals that have a wildcard. */
export const wildcardArnsOf = ({ boundIamPrincipalArns }: Pick<Role, 'boundIamPrincipalArns'>): string[] =>
  boundIamPrincipalArns.filter(arn => arn.endsWith('*'))

/** Returns the kind of callers that an iam role admits. */
export const admittedCallerKind = ({
  allowInstanceIdentityRole,
}: Pick<Role, 'allowInstanceIdentityRole'>): 'instance' | 'principal' =>
  allowInstanceIdentityRole ? 'instance' : 'principal'

/** Reports whether ec2 constraints are checked for a role: for ec2, and for iam with an inferred instance. */
export const checksInstances = (role: Pick<Role, 'authType' | 'inferredEntityType'>): boolean =>
  role.authType === 'ec2' || role.inferredEntityType !== ''
