import type { Role } from '../state/state.ts'
import type { World } from '../state/world.ts'
import type { Caller } from './callers.ts'

/** Takes a permission away from a principal; everything not denied is allowed. */
export function deny(world: World, principalArn: string, action: string): void {
  world.state.denied.add(`${principalArn}|${action}`)
  world.changed()
}

/** Undoes {@link deny}. */
export function allow(world: World, principalArn: string, action: string): void {
  world.state.denied.delete(`${principalArn}|${action}`)
  world.changed()
}

/**
 * Whether a caller was denied an action, as itself or as the role behind its session.
 *
 * @param action such as `ec2:DescribeInstances`; a denial may also say `ec2:*`
 */
export function isDenied(world: World, caller: Caller, service: string, action: string): boolean {
  const { denied } = world.state
  if (denied.size === 0) return false
  return [caller.arn, caller.permissionArn].some(
    arn => denied.has(`${arn}|${service}:${action}`) || denied.has(`${arn}|${service}:*`),
  )
}

/** Whether a role's trust policy lets a caller assume it; an account stands for everyone in it. */
export function trusts(role: Role, caller: Caller): boolean {
  if (role.trusts === null) return true
  const root = `arn:${caller.partition}:iam::${caller.account}:root`
  const names = ['*', caller.account, root, caller.arn, caller.permissionArn]
  return role.trusts.some(principal => names.includes(principal))
}

/** The sentence AWS puts into its refusals. */
export const notAuthorized = (caller: Caller, action: string, resource = '*'): string =>
  `User: ${caller.arn} is not authorized to perform: ${action} on resource: ${resource}`
