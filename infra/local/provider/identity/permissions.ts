import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamRole } from '../state/state.ts'
import type { AwsCaller } from './callers.ts'

/** Denies a principal an action. Everything that is not denied is allowed. */
export function denyAction(aws: ImitatedAws, principalArn: string, action: string): void {
  aws.state.denied.add(`${principalArn}|${action}`)
  aws.changed()
}

/** Undoes {@link deny}. */
export function allowAction(aws: ImitatedAws, principalArn: string, action: string): void {
  aws.state.denied.delete(`${principalArn}|${action}`)
  aws.changed()
}

/**
 * Reports whether a caller was denied an action, itself or through its session's role.
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

/** Reports whether a role's trust policy allows a caller to assume it. An account stands for everyone in it. */
export function roleTrustsCaller(role: IamRole, caller: AwsCaller): boolean {
  if (role.trusts === null) return true
  const root = `arn:${caller.partition}:iam::${caller.account}:root`
  const names = ['*', caller.account, root, caller.arn, caller.permissionArn]
  return role.trusts.some(principal => names.includes(principal))
}

/** Returns the text of AWS's authorisation errors. */
export const notAuthorizedText = (caller: AwsCaller, action: string, resource = '*'): string =>
  `User: ${caller.arn} is not authorized to perform: ${action} on resource: ${resource}`
