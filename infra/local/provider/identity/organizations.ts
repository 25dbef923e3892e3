import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { OrganizationPlace } from '../state/state.ts'

/** Puts an account into an organization. */
export function putOrganization(
  aws: ImitatedAws,
  account: string,
  place: OrganizationPlace,
): OrganizationPlace {
  aws.state.organizations.set(account, place)
  aws.changed()
  return place
}

/**
 * Moves an account to another path of its organization, or out of the organization if there is no path.
 * @throws Error if the account is in no organization
 */
export function moveAccount(aws: ImitatedAws, account: string, path: string | undefined): null {
  const place = aws.state.organizations.get(account)
  if (place === undefined) throw new Error(`account ${account} is in no organization`)
  if (path === undefined) aws.state.organizations.delete(account)
  else aws.state.organizations.set(account, { ...place, path })
  aws.changed()
  return null
}
