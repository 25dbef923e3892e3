import type { CallerArnIdentity } from '../../identity-proof/caller-identity.ts'
import { type Role, wildcardArnsOf } from '../../model/role.ts'
import { matchesPattern } from '../../values/pattern.ts'

/** The parts of a principal that a role's bindings compare. */
export interface PrincipalFacts {
  /** `uniqueId` is absent on tokens created before unique IDs were stored */
  uniqueId?: string
  canonicalArn: string
  /** `fullArn`: full ARN including the path; absent until it is looked up */
  fullArn?: string
}

type Binding = Pick<Role, 'boundIamPrincipalArns' | 'boundIamPrincipalIds' | 'resolveAwsUniqueIds'>

/**
 * Decides whether a role admits a principal. `look-up` means that the full ARN is needed to compare a wildcard. Wildcards are
 * compared with `arn:…:iam::…:role/path/name`, never with a session's ARN.
 * @see docs/spec/login-iam.md#principals
 */
export function roleAdmitsPrincipal(role: Binding, principal: PrincipalFacts): 'yes' | 'no' | 'look-up' {
  const arns = role.boundIamPrincipalArns
  if (arns.length === 0) return 'yes'
  if (principal.uniqueId !== undefined && role.boundIamPrincipalIds.includes(principal.uniqueId)) return 'yes'
  if (!role.resolveAwsUniqueIds && arns.includes(principal.canonicalArn)) return 'yes'
  const wild = wildcardArnsOf(role)
  if (wild.length === 0) return 'no'
  const { fullArn } = principal
  if (fullArn === undefined) return 'look-up'
  return wild.some(pattern => matchesPattern(pattern, fullArn)) ? 'yes' : 'no'
}

const INSTANCE = /^i-[0-9a-f]{8,17}$/

/**
 * Returns the ID of the instance behind a caller, or undefined. An instance calls with its own role or in a session. Such
 * a session has the ID as its name, because EC2 names sessions after their instances.
 */
export function inferredInstanceId(caller: CallerArnIdentity): string | undefined {
  const id = caller.kind === 'instance' ? caller.uniqueId : caller.entity.session
  return id !== undefined && INSTANCE.test(id) ? id : undefined
}
