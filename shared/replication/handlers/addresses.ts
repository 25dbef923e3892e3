import type { RequestFacts } from '../../api/call.ts'
import { type ClusterRecord, deployedLinkAddress } from '../../model/cluster.ts'
import type { Deployment } from '../../ports.ts'
import { type AddressRules, normaliseMemberAddress } from '../../values/member-address.ts'
import { invalidAddressError, ownAddressUnknownError } from '../operation/refusals.ts'

/**
 * Parses an address into the stored form: with its scheme (`https` if the text has no scheme) and without a slash
 * at the end. Only the embedded host accepts addresses of its own machine or network.
 * @param name of the parameter, for error texts
 * @returns an empty text for an empty address
 * @throws ApiError
 */
export function parseMemberAddress(input: string, name: string, rules: AddressRules): string {
  if (input === '') return ''
  // the URL parser would turn these words and numbers into a host that the caller did not mean
  const host = /^(?:https?:\/\/)?([^/?#]*)/i.exec(input)?.[1]?.replace(/:\d*$/, '') ?? ''
  if (/^(?:true|false|\d*)$/i.test(host)) throw invalidAddressError(name)
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(input) ? input : `https://${input}`
  const address = normaliseMemberAddress(text, rules)
  if (address === undefined) throw invalidAddressError(name)
  return address
}

/**
 * Returns the address under which secondaries reach this cluster: the configured address, the deployment's address,
 * or the address of this request.
 */
export function resolveOwnLinkAddress(
  record: Pick<ClusterRecord, 'clusterAddr' | 'observedAddr'>,
  deployment: Pick<Deployment, 'apiAddress' | 'linkAddress' | 'plainEndpoints'>,
  { domain }: Pick<RequestFacts, 'domain'>,
): string {
  const known = record.clusterAddr || deployedLinkAddress(deployment)
  if (known) return known
  if (domain === '') throw ownAddressUnknownError()
  return `${deployment.plainEndpoints ? 'http' : 'https'}://${domain}`
}
