import { ApiError } from '../api/errors.ts'
import { anyNetworkContains, toHostNetwork } from '../values/cidr.ts'
import type { TokenParameters } from './terms.ts'

/**
 * Returns the networks from which a token may be used; empty: any. A token bound to the client address gets only that address.
 *
 * @param source address of the request that creates the token
 * @throws ApiError `permission_denied` if that address could not use the token
 */
export function boundNetworksOf(
  { boundCidrs, strictlyBindIp }: Pick<TokenParameters, 'boundCidrs' | 'strictlyBindIp'>,
  source: string,
): readonly string[] {
  // only an explicit false disables the binding: a stored role without the term must not create unbound tokens
  if (strictlyBindIp === false) return boundCidrs
  const own = toHostNetwork(source)
  if (own === undefined || (boundCidrs.length > 0 && !anyNetworkContains(boundCidrs, source)))
    throw new ApiError('permission_denied', '', { reason: { why: 'source-address' } })
  return [own]
}
