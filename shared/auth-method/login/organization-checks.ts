import { createRefusal } from '../../api/errors.ts'
import type { LoginType, Role } from '../../model/role.ts'
import type { ItemStore } from '../../ports.ts'
import type { LoginCheck } from './checks.ts'
import type { OrganizationFacts, PlaceLookUp } from './organization-facts.ts'

const names = ['bound_organization_id', 'bound_organization_path'] as const

interface CheckedFacts {
  role: Role
  roleName: string
  /** absent: the role binds no organization */
  organization?: OrganizationFacts
}

const isBound = (role: Role, name: (typeof names)[number]): boolean => role.claims?.[name] !== undefined

/** The checks of the organization of the caller's account, for ec2 and iam roles. */
export const organizationChecks: readonly LoginCheck<CheckedFacts>[] = names.map(name => ({
  name,
  applies: ({ role }) => isBound(role, name),
  seen: ({ organization }) => organization?.[name]?.seen ?? null,
  wanted: ({ role }) => role.claims?.[name],
  refuse: ({ organization, roleName }) =>
    organization?.[name]?.isMet
      ? undefined
      : createRefusal(`not-${name}`, `the account does not satisfy role "${roleName}": ${name}`),
}))

/**
 * Looks up the place of an account, if a role of this type binds an organization. Other logins load no code and read
 * nothing. @throws ApiError `busy` if the map of the organization is too old
 */
export async function lookUpOrganization(
  call: PlaceLookUp,
  read: ItemStore['read'],
  type: LoginType,
  role: Role,
  account: string,
): Promise<{ organization?: OrganizationFacts }> {
  if (role.authType !== type || !role.claims) return {}
  const { gatherOrganization } = await import('./organization.ts')
  return { organization: await gatherOrganization(call, read, role, account) }
}

/** Returns the first binding to an organization that a role has and an account does not satisfy. */
export const findBrokenOrganizationBound = (
  role: Role,
  organization: OrganizationFacts | undefined,
): string | undefined => names.find(name => isBound(role, name) && !organization?.[name]?.isMet)
