import type { RequestFacts } from '../../api/call.ts'
import { type ClusterRecord, deployedLink } from '../../model/cluster.ts'
import type { Deployment } from '../../ports.ts'
import { type AddressRules, memberAddress } from '../../values/member-address.ts'
import { addressUnknown, addressUnusable } from '../operation/refusals.ts'

/**
 * An address as it is stored: with its scheme (`https` if none is given) and without a slash at its end. Only the embedded host
 * takes addresses of its own machine or network.
 * @param name of the parameter that holds it
 * @returns empty for an empty one
 * @throws ApiError
 */
export function parseAddress(given: string, name: string, rules: AddressRules): string {
  if (given === '') return ''
  // a URL makes a host of these that the caller did not mean
  const host = /^(?:https?:\/\/)?([^/?#]*)/i.exec(given)?.[1]?.replace(/:\d*$/, '') ?? ''
  if (/^(?:true|false|\d*)$/i.test(host)) throw addressUnusable(name)
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `https://${given}`
  const address = memberAddress(text, rules)
  if (address === undefined) throw addressUnusable(name)
  return address
}

/** Where secondaries reach this cluster: the given address, that of the deployment, or the one of this request. */
export function ownAddress(
  record: Pick<ClusterRecord, 'clusterAddr' | 'observedAddr'>,
  deployment: Pick<Deployment, 'apiAddress' | 'linkAddress' | 'plainEndpoints'>,
  { domain }: Pick<RequestFacts, 'domain'>,
): string {
  const known = record.clusterAddr || deployedLink(deployment)
  if (known) return known
  if (domain === '') throw addressUnknown()
  return `${deployment.plainEndpoints ? 'http' : 'https'}://${domain}`
}
