import { ApiError } from '../api/errors.ts'
import { anyContains, hostNetwork } from '../values/cidr.ts'
import type { TokenParameters } from './terms.ts'

/**
 * The networks that terms tie a token to; empty: none. Where only one address may use it, no other network counts.
 *
 * @param source address of the request that makes the token
 * @throws ApiError `permission_denied` when that address could not use it
 */
export function networksOf(
  { boundCidrs, strictlyBindIp }: Pick<TokenParameters, 'boundCidrs' | 'strictlyBindIp'>,
  source: string,
): readonly string[] {
  // a stored role that lacks the term must not give tokens that everybody may use
  if (strictlyBindIp === false) return boundCidrs
  const own = hostNetwork(source)
  if (own === undefined || (boundCidrs.length > 0 && !anyContains(boundCidrs, source)))
    throw new ApiError('permission_denied', '', { reason: { why: 'source-address' } })
  return [own]
}
