import { ApiError } from '../../api/errors.ts'
import { isMapStale } from '../../model/organization.ts'
import type { Role } from '../../model/role.ts'
import type { ItemStore } from '../../ports.ts'
import { key } from '../../storage/kinds.ts'
import { type ClaimFacts, claimRules } from '../roles/claim-bindings.ts'
import type { OrganizationFacts, PlaceLookUp } from './organization-facts.ts'

/**
 * Compares the place of an account in its organization with the bindings of an ec2 or iam role. The place is in the
 * mount's map, so the login makes no call.
 * @throws ApiError `busy` if the map is too old
 * @see docs/spec/login-iam.md#organizations
 */
export async function gatherOrganization(
  { mount: { accessor }, now }: PlaceLookUp,
  read: ItemStore['read'],
  role: Role,
  account: string,
): Promise<OrganizationFacts> {
  const [map, found] = await read([
    key('organization-map', accessor),
    key('organization-account', accessor, account),
  ])
  if (map && isMapStale(map.data, now))
    throw new ApiError('busy', 'the map of the organization is too old', {
      retryAfter: 60,
      reason: { why: 'organization-stale', service: 'organizations' },
    })
  // a round of an earlier configuration may have stored accounts of another organization
  const place = found && found.data.organization === map?.data.organization ? found.data : undefined
  const facts: ClaimFacts = {
    account,
    sub: '',
    principalTags: {},
    requestTags: {},
    ...(place ? { orgId: place.organization, orgPaths: [place.path] } : {}),
  }
  const rules = claimRules.filter(({ name }) => name.startsWith('bound_organization_'))
  return Object.fromEntries(
    rules.map(rule => [rule.name, { seen: rule.seen(role, facts), isMet: rule.isMet(role, facts) }]),
  )
}
