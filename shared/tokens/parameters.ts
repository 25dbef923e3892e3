import { invalid } from '../api/errors.ts'
import { bool, duration, int, list, type Supplied, text } from '../api/fields.ts'
import { isPolicyName, sanitisePolicies } from '../policies/names.ts'
import { isCidr } from '../values/cidr.ts'
import type { TokenParameters } from './stored.ts'

export const tokenFields = {
  token_ttl: duration('Lifetime of tokens, extended by each renewal'),
  token_max_ttl: duration('Greatest lifetime of tokens'),
  token_policies: list('Policies of tokens'),
  token_bound_cidrs: list('Networks from which logins are accepted and tokens may be used'),
  token_explicit_max_ttl: duration('Hard limit of the lifetime, whatever changes later'),
  token_no_default_policy: bool('Leave the policy `default` out'),
  token_num_uses: int('How many requests a token may make; 0: any number'),
  token_period: duration('Period of periodic tokens'),
  token_type: text('`service`, `batch` or `default` (what the mount says)'),
  policies: list('Deprecated: token_policies'),
  ttl: duration('Deprecated: token_ttl'),
  max_ttl: duration('Deprecated: token_max_ttl'),
  period: duration('Deprecated: token_period'),
}

type Given = Supplied<typeof tokenFields>

export const defaultParameters: TokenParameters = {
  boundCidrs: [],
  explicitMaxTtl: 0,
  maxTtl: 0,
  noDefaultPolicy: false,
  numUses: 0,
  period: 0,
  policies: [],
  ttl: 0,
  type: 'default',
  legacy: {},
}

/**
 * Merges supplied parameters into stored ones and checks the result.
 *
 * @param mountMax greatest lifetime of the mount, seconds
 * @throws ApiError `invalid_request`
 * @see auth-behaviour 3.7.4
 */
export function mergeParameters(stored: TokenParameters, given: Given, mountMax: number): TokenParameters {
  const merged: TokenParameters = {
    boundCidrs: given.token_bound_cidrs ?? stored.boundCidrs,
    explicitMaxTtl: given.token_explicit_max_ttl ?? stored.explicitMaxTtl,
    maxTtl: given.token_max_ttl ?? given.max_ttl ?? stored.maxTtl,
    noDefaultPolicy: given.token_no_default_policy ?? stored.noDefaultPolicy,
    numUses: given.token_num_uses ?? stored.numUses,
    period: given.token_period ?? given.period ?? stored.period,
    policies: given.token_policies ?? legacyPolicies(given) ?? stored.policies,
    ttl: given.token_ttl ?? given.ttl ?? stored.ttl,
    type: tokenType(given.token_type) ?? stored.type,
    legacy: mergeLegacy(stored.legacy, given),
  }
  const fault = faultOf(merged, mountMax)
  if (fault) throw invalid(fault)
  return merged
}

const legacyPolicies = (given: Given): string[] | undefined =>
  given.policies && sanitisePolicies(given.policies)

// A deprecated spelling is remembered only while it says the same as the current one.
function mergeLegacy(stored: TokenParameters['legacy'], given: Given): TokenParameters['legacy'] {
  const policies = pair(given.token_policies, legacyPolicies(given), stored.policies)
  const ttl = pair(given.token_ttl, given.ttl, stored.ttl)
  const maxTtl = pair(given.token_max_ttl, given.max_ttl, stored.maxTtl)
  const period = pair(given.token_period, given.period, stored.period)
  return {
    ...(policies === undefined ? {} : { policies }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(maxTtl === undefined ? {} : { maxTtl }),
    ...(period === undefined ? {} : { period }),
  }
}

const pair = <T>(current: T | undefined, old: T | undefined, stored: T | undefined): T | undefined => {
  if (current !== undefined) return old === undefined ? undefined : current
  return old ?? stored
}

function tokenType(given: string | undefined): TokenParameters['type'] | undefined {
  if (given === undefined) return undefined
  if (given === '' || given === 'default') return 'default'
  if (given === 'service' || given === 'batch') return given
  throw invalid('token_type must be service, batch or default')
}

function faultOf(merged: TokenParameters, mountMax: number): string | undefined {
  if (merged.boundCidrs.some(network => !isCidr(network)))
    return 'token_bound_cidrs: not an address or network'
  if (merged.maxTtl > 0 && merged.ttl > merged.maxTtl)
    return 'token_ttl must not be greater than token_max_ttl'
  if (merged.period > mountMax)
    return `token_period must not be greater than the mount’s maximum of ${mountMax} seconds`
  if (merged.numUses < 0) return 'token_num_uses must not be negative'
  if (merged.policies.some(name => !isPolicyName(name))) {
    return 'token_policies: a policy name may hold visible ASCII characters other than ":" and ","'
  }
  if (sanitisePolicies(merged.policies).includes('root')) return 'token_policies must not contain root'
  if (merged.type === 'batch' && (merged.period > 0 || merged.numUses > 0)) {
    return 'batch tokens can have neither token_period nor token_num_uses'
  }
  return undefined
}

/** A warning when the role allows more than its mount. */
export const parameterWarnings = (parameters: TokenParameters, mountMax: number): string[] =>
  parameters.maxTtl > mountMax
    ? [
        `token_max_ttl of ${parameters.maxTtl} seconds is above the mount’s maximum of ${mountMax} seconds, which counts`,
      ]
    : []

/** How the parameters read back. Deprecated spellings appear only where they were used. */
export const parametersAnswer = (parameters: TokenParameters): Record<string, unknown> => ({
  token_bound_cidrs: parameters.boundCidrs,
  token_explicit_max_ttl: parameters.explicitMaxTtl,
  token_max_ttl: parameters.maxTtl,
  token_no_default_policy: parameters.noDefaultPolicy,
  token_num_uses: parameters.numUses,
  token_period: parameters.period,
  token_policies: parameters.policies,
  token_ttl: parameters.ttl,
  token_type: parameters.type,
  ...(parameters.legacy.policies?.length ? { policies: parameters.legacy.policies } : {}),
  ...(parameters.legacy.ttl ? { ttl: parameters.legacy.ttl } : {}),
  ...(parameters.legacy.maxTtl ? { max_ttl: parameters.legacy.maxTtl } : {}),
  ...(parameters.legacy.period ? { period: parameters.legacy.period } : {}),
})
