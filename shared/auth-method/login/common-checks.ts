import { createRefusal } from '../../api/errors.ts'
import type { LoginType, Role } from '../../model/role.ts'
import { sanitisePolicies } from '../../policies/names.ts'
import { anyNetworkContains } from '../../values/cidr.ts'
import type { LoginCheck } from './checks.ts'
import type { OrganizationFacts } from './organization-facts.ts'

/** The facts for the checks that both login types share. */
export interface CommonLoginFacts {
  type: LoginType
  roleName: string
  role: Role
  /** address of the caller */
  source: string
  /** name of the login's identity alias */
  aliasName: string
  /** `organization`: absent if the role binds no organization */
  organization?: OrganizationFacts
}

/** The checks that both login types share, in order. @see docs/spec/login-ec2.md#common-checks */
export const commonLoginChecks: readonly LoginCheck<CommonLoginFacts>[] = [
  {
    name: 'token_bound_cidrs',
    applies: ({ role }) => role.token.boundCidrs.length > 0,
    seen: ({ source }) => source,
    wanted: ({ role }) => role.token.boundCidrs,
    refuse: ({ role, source }) =>
      anyNetworkContains(role.token.boundCidrs, source)
        ? undefined
        : createRefusal('source-address', '', 'permission_denied'),
  },
  {
    name: 'auth_type',
    seen: ({ type }) => type,
    wanted: ({ role }) => role.authType,
    refuse: ({ role, roleName, type }) =>
      role.authType === type
        ? undefined
        : createRefusal('role-type', `${type} login is not allowed for role "${roleName}"`),
  },
  {
    name: 'token_policies',
    seen: ({ role }) => role.token.policies,
    wanted: () => 'policies without root',
    refuse: ({ role }) =>
      sanitisePolicies(role.token.policies).includes('root')
        ? createRefusal('root-policy', 'a login may not issue root tokens')
        : undefined,
  },
  {
    name: 'alias',
    seen: ({ aliasName }) => aliasName,
    wanted: () => 'a value for the alias of config/identity',
    refuse: ({ aliasName }) =>
      aliasName === ''
        ? createRefusal('no-alias', 'the login has no value for the alias set in config/identity')
        : undefined,
  },
]
