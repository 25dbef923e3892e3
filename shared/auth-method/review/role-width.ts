import type { Role } from '../../model/role.ts'
import { bindingNames } from '../roles/bindings.ts'
import { claimBindingNames } from '../roles/claim-bindings.ts'

const WHOLE_ACCOUNT = /^arn:[a-z-]+:iam::\d{12}:(?:(?:user|role|instance-profile)\/)?\*$/

/** Reports whether a principal's ARN admits all users or all roles of an account. */
export const namesWholeAccount = (arn: string): boolean => WHOLE_ACCOUNT.test(arn)

const WIDE_BINDINGS = ['bound_account_id', 'bound_region']

/**
 * Reports whether a role admits everything in an account or an organization: no principal, no instance and no claim
 * narrows it further.
 */
export function admitsWholeAccount(role: Role): boolean {
  const { bound, boundIamPrincipalArns: arns, claims = {}, roleTag } = role
  const isNarrowed =
    roleTag !== '' ||
    bindingNames.some(name => !WIDE_BINDINGS.includes(name) && narrows(bound[name])) ||
    claimBindingNames.some(name => !name.startsWith('bound_organization_') && claims[name] !== undefined)
  if (isNarrowed) return false
  return arns.length === 0 || arns.some(namesWholeAccount)
}

/** Reports whether the value of a binding excludes anything. A bare `*` matches every value. */
const narrows = (value: Role['bound'][keyof Role['bound']]): boolean =>
  Array.isArray(value) ? value.length > 0 && !value.includes('*') : Object.keys(value ?? {}).length > 0
