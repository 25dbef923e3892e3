import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamRole } from '../state/state.ts'
import type { AwsCaller } from './callers.ts'

/** Denies a principal an action. Every action that is not denied is allowed. */
export function denyAction(aws: ImitatedAws, principalArn: string, action: string): void {
  aws.state.denied.add(`${principalArn}|${action}`)
  aws.changed()
}

/** Undoes a denial by {@link deny}. */
export function allowAction(aws: ImitatedAws, principalArn: string, action: string): void {
  aws.state.denied.delete(`${principalArn}|${action}`)
  aws.changed()
}

/**
 * Reports whether an action is denied to a caller, or to the role of the caller's session.
 * @param action such as `ec2:DescribeInstances`; a denial may also be `ec2:*`
 */
export function isActionDenied(
  aws: ImitatedAws,
  caller: AwsCaller,
  service: string,
  action: string,
): boolean {
  const { denied } = aws.state
  if (denied.size === 0) return false
  return [caller.arn, caller.permissionArn].some(
    arn => denied.has(`${arn}|${service}:${action}`) || denied.has(`${arn}|${service}:*`),
  )
}

/**
 * Reports whether a role's trust policy allows a caller to assume the role. An account in the policy stands
 * for every principal of the account.
 */
export function roleTrustsCaller(role: IamRole, caller: AwsCaller): boolean {
  if (role.trusts === null) return true
  const root = `arn:${caller.partition}:iam::${caller.account}:root`
  const names = ['*', caller.account, root, caller.arn, caller.permissionArn]
  return role.trusts.some(principal => names.includes(principal))
}

/** Returns the text of AWS's authorisation errors. */
export const notAuthorizedText = (caller: AwsCaller, action: string, resource = '*'): string =>
  `User: ${caller.arn} is not authorized to perform: ${action} on resource: ${resource}`
