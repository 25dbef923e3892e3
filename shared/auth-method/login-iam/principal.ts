import type { Identity } from '../../identity-proof/caller-identity.ts'
import type { Role } from '../../model/role.ts'
import { matches } from '../../values/pattern.ts'

/** A principal as far as a role's bindings look at it. */
export interface PrincipalFacts {
  /** absent on tokens that pre-date unique IDs */
  uniqueId?: string
  canonicalArn: string
  /** with path; absent until it was looked up */
  fullArn?: string
}

type Binding = Pick<Role, 'boundIamPrincipalArns' | 'boundIamPrincipalIds' | 'resolveAwsUniqueIds'>

/**
 * Whether a role admits a principal. `look-up`: only its full ARN, compared with a wildcard, can tell.
 * Wildcards are compared with `arn:…:iam::…:role/path/name`, never with the ARN of a session.
 * @see docs/spec/login-iam.md#principals
 */
export function admits(role: Binding, principal: PrincipalFacts): 'yes' | 'no' | 'look-up' {
  const arns = role.boundIamPrincipalArns
  if (arns.length === 0) return 'yes'
  if (principal.uniqueId !== undefined && role.boundIamPrincipalIds.includes(principal.uniqueId)) return 'yes'
  if (!role.resolveAwsUniqueIds && arns.includes(principal.canonicalArn)) return 'yes'
  const wild = arns.filter(arn => arn.endsWith('*'))
  if (wild.length === 0) return 'no'
  const { fullArn } = principal
  if (fullArn === undefined) return 'look-up'
  return wild.some(pattern => matches(pattern, fullArn)) ? 'yes' : 'no'
}

const INSTANCE = /^i-[0-9a-f]{8,17}$/

/** EC2 names the sessions of its instances after them. */
export const inferredInstanceId = ({ entity }: Identity): string | undefined =>
  entity.session !== undefined && INSTANCE.test(entity.session) ? entity.session : undefined
