import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamRole } from '../state/state.ts'
import type { AwsCaller } from './callers.ts'

/** Takes a permission away from a principal; everything not denied is allowed. */
export function deny(aws: ImitatedAws, principalArn: string, action: string): void {
  aws.state.denied.add(`${principalArn}|${action}`)
  aws.changed()
}

/** Undoes {@link deny}. */
export function allow(aws: ImitatedAws, principalArn: string, action: string): void {
  aws.state.denied.delete(`${principalArn}|${action}`)
  aws.changed()
}

/**
 * Whether a caller was denied an action, as itself or as the role behind its session.
 *
 * @param action such as `ec2:DescribeInstances`; a denial may also say `ec2:*`
 */
export function isDenied(aws: ImitatedAws, caller: AwsCaller, service: string, action: string): boolean {
  const { denied } = aws.state
  if (denied.size === 0) return false
  return [caller.arn, caller.permissionArn].some(
    arn => denied.has(`${arn}|${service}:${action}`) || denied.has(`${arn}|${service}:*`),
  )
}

/** Whether a role's trust policy lets a caller assume it; an account stands for everyone in it. */
export function trusts(role: IamRole, caller: AwsCaller): boolean {
  if (role.trusts === null) return true
  const root = `arn:${caller.partition}:iam::${caller.account}:root`
  const names = ['*', caller.account, root, caller.arn, caller.permissionArn]
  return role.trusts.some(principal => names.includes(principal))
}

/** The sentence AWS puts into its refusals. */
export const notAuthorized = (caller: AwsCaller, action: string, resource = '*'): string =>
  `User: ${caller.arn} is not authorized to perform: ${action} on resource: ${resource}`
