import type { RequestFacts } from '../../api/call.ts'
import { type ClusterRecord, deployedLink } from '../../model/cluster.ts'
import type { Deployment } from '../../ports.ts'
import { type AddressRules, memberAddress } from '../../values/member-address.ts'
import { addressUnknown, addressUnusable } from '../operation/refusals.ts'

/**
 * An address as it is kept: with its scheme, `https` where none is given, and without a slash at its end. What
 * is on this machine or near it is for the embedded host alone.
 * @param name of the parameter that holds it
 * @returns empty for an empty one
 * @throws ApiError
 */
export function addressOf(given: string, name: string, rules: AddressRules): string {
  if (given === '') return ''
  // what a URL makes of these is a host that nobody meant
  const host = /^(?:https?:\/\/)?([^/?#]*)/i.exec(given)?.[1]?.replace(/:\d*$/, '') ?? ''
  if (/^(?:true|false|\d*)$/i.test(host)) throw addressUnusable(name)
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? given : `https://${given}`
  const address = memberAddress(text, rules)
  if (address === undefined) throw addressUnusable(name)
  return address
}

/** Where secondaries reach this cluster: as it was told, or as the deployment says, or as it was asked just now. */
export function ownAddress(
  record: Pick<ClusterRecord, 'clusterAddr' | 'reachedAt'>,
  deployment: Pick<Deployment, 'apiAddress' | 'linkAddress' | 'plainEndpoints'>,
  { domain }: Pick<RequestFacts, 'domain'>,
): string {
  const known = record.clusterAddr || deployedLink(deployment)
  if (known) return known
  if (domain === '') throw addressUnknown()
  return `${deployment.plainEndpoints ? 'http' : 'https'}://${domain}`
}
