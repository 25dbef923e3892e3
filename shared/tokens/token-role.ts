import { after, answer, type Call, data, keys, nothing, type Outcome, subjectOf } from '../api/call.ts'
import { ApiError, invalid } from '../api/errors.ts'
import { bool, duration, int, list, text } from '../api/fields.ts'
import { type listFields, pageOf } from '../api/listing.ts'
import { SYSTEM_LEASE_TTL } from '../mounts/mount.ts'
import { DEFAULT, sanitisePolicies } from '../policies/names.ts'
import { erase, replace } from '../storage/changes.ts'
import { key, partitions } from '../storage/kinds.ts'
import { matches } from '../values/pattern.ts'
import { type createFields, creating, type RoleRules } from './create.ts'
import { defaultParameters, mergeParameters, parameterWarnings } from './parameters.ts'
import type { TokenRole } from './stored.ts'

export const tokenRoleFields = {
  allowed_policies: list('Policies that tokens may have; empty: those of the caller'),
  disallowed_policies: list('Policies that tokens may not have'),
  allowed_policies_glob: list('Patterns of further policies that tokens may have'),
  disallowed_policies_glob: list('Patterns of policies that tokens may not have'),
  orphan: bool('Tokens have no parent'),
  renewable: bool('Tokens can be renewed; default true'),
  path_suffix: text('Appended to the path of tokens'),
  token_type: text(
    '`service`, `batch`, or `default-service` and `default-batch`: unless the request says it',
  ),
  token_period: duration('Period of tokens'),
  token_explicit_max_ttl: duration('Hard limit of the lifetime of tokens'),
  token_num_uses: int('How many requests a token may make'),
  token_bound_cidrs: list('Networks from which tokens may be used'),
  token_no_default_policy: bool('Leave the policy `default` out'),
  period: duration('Deprecated: token_period'),
  explicit_max_ttl: duration('Deprecated: token_explicit_max_ttl'),
  bound_cidrs: list('Deprecated: token_bound_cidrs'),
}

const initial: TokenRole = {
  allowedPolicies: [],
  disallowedPolicies: [],
  allowedGlobs: [],
  disallowedGlobs: [],
  orphan: false,
  renewable: true,
  pathSuffix: '',
  token: defaultParameters,
}

const nameOf = (call: Pick<Call, 'params'>): string => call.params['role_name'] ?? ''

/** POST auth/token/roles/:role_name: fields that are not supplied keep their values. */
export function writeTokenRole(call: Call<typeof tokenRoleFields>): Outcome {
  const stored = subjectOf(call, 'token-role')
  const before = stored?.data ?? initial
  const { given } = call
  const names = (policies: readonly string[] | undefined, kept: readonly string[]) =>
    policies ? sanitisePolicies(policies) : kept
  const next: TokenRole = {
    allowedPolicies: names(given.allowed_policies, before.allowedPolicies),
    disallowedPolicies: names(given.disallowed_policies, before.disallowedPolicies),
    allowedGlobs: names(given.allowed_policies_glob, before.allowedGlobs),
    disallowedGlobs: names(given.disallowed_policies_glob, before.disallowedGlobs),
    orphan: given.orphan ?? before.orphan,
    renewable: given.renewable ?? before.renewable,
    pathSuffix: given.path_suffix ?? before.pathSuffix,
    ...otherwiseOf(call.given.token_type, before),
    token: mergeParameters(before.token, parametersOf(given), SYSTEM_LEASE_TTL),
  }
  if (!/^[\w.-]*$/.test(next.pathSuffix))
    throw invalid('path_suffix may hold letters, digits, "_", "." and "-"')
  return after(
    [replace(key('token-role', nameOf(call)), stored, next)],
    nothing(parameterWarnings(next.token, SYSTEM_LEASE_TTL)),
  )
}

/** The second half of `default-service` and `default-batch`; it stays while no type is given. */
function otherwiseOf(type: string | undefined, before: TokenRole): Pick<TokenRole, 'otherwise'> {
  if (type?.startsWith('default-') && !['default-service', 'default-batch'].includes(type))
    throw invalid('token_type must be service, batch, default-service or default-batch')
  const batch = type === undefined ? before.otherwise === 'batch' : type === 'default-batch'
  return batch ? { otherwise: 'batch' } : {}
}

function parametersOf(given: Call<typeof tokenRoleFields>['given']) {
  const { period, explicit_max_ttl: explicitMax, bound_cidrs: cidrs, ...rest } = given
  const old = {
    ...(period === undefined ? {} : { token_period: period }),
    ...(explicitMax === undefined ? {} : { token_explicit_max_ttl: explicitMax }),
    ...(cidrs === undefined ? {} : { token_bound_cidrs: cidrs }),
  }
  const type = rest.token_type?.startsWith('default-') ? { token_type: 'default' } : {}
  return { ...old, ...rest, ...type } as Parameters<typeof mergeParameters>[1]
}

/** GET auth/token/roles/:role_name. */
export function readTokenRole(call: Call): Outcome {
  const role = subjectOf(call, 'token-role')?.data
  if (!role) throw new ApiError('not_found')
  const { token } = role
  return answer(
    data({
      name: nameOf(call),
      allowed_policies: role.allowedPolicies,
      disallowed_policies: role.disallowedPolicies,
      allowed_policies_glob: role.allowedGlobs,
      disallowed_policies_glob: role.disallowedGlobs,
      orphan: role.orphan,
      renewable: role.renewable,
      path_suffix: role.pathSuffix,
      token_type: token.type === 'default' ? `default-${role.otherwise ?? 'service'}` : token.type,
      token_period: token.period,
      token_explicit_max_ttl: token.explicitMaxTtl,
      token_num_uses: token.numUses,
      token_bound_cidrs: token.boundCidrs,
      token_no_default_policy: token.noDefaultPolicy,
    }),
  )
}

export const deleteTokenRole = (call: Call): Outcome => after([erase(key('token-role', nameOf(call)))])

export async function listTokenRoles(call: Call<typeof listFields>): Promise<Outcome> {
  const found = await call.ports.store.list(partitions('token-role'), pageOf(call.given))
  return answer(keys(found.map(item => item.sk)))
}

/** POST auth/token/create/:role_name: the role, not the caller's rights, decides what the token may be. */
export async function createWithRole(call: Call<typeof createFields>): Promise<Outcome> {
  const role = subjectOf(call, 'token-role')?.data
  if (!role) throw invalid(`unknown role ${nameOf(call)}`)
  return creating(call, { orphan: role.orphan, role: rulesOf(nameOf(call), role) })
}

const rulesOf = (name: string, role: TokenRole): RoleRules => ({
  name,
  ...(role.allowedPolicies.length > 0 || role.allowedGlobs.length > 0
    ? { allowed: wanted => allowedPolicies(role, wanted) }
    : {}),
  forbid: policies => forbid(role, policies),
  orphan: role.orphan,
  renewable: role.renewable,
  period: role.token.period,
  explicitMaxTtl: role.token.explicitMaxTtl,
  numUses: role.token.numUses,
  boundCidrs: role.token.boundCidrs,
  noDefaultPolicy: role.token.noDefaultPolicy || isDisallowed(role, DEFAULT),
  type: role.token.type,
  otherwise: role.otherwise ?? 'service',
  pathSuffix: role.pathSuffix,
})

const globbed = (globs: readonly string[], name: string): boolean => globs.some(glob => matches(glob, name))

const isDisallowed = (role: TokenRole, name: string): boolean =>
  role.disallowedPolicies.includes(name) || globbed(role.disallowedGlobs, name)

function allowedPolicies(role: TokenRole, wanted: readonly string[]): readonly string[] {
  const policies = wanted.length > 0 ? wanted : role.allowedPolicies
  const outside = policies.find(
    name =>
      !role.allowedPolicies.includes(name) &&
      !globbed(role.allowedGlobs, name) &&
      (name !== DEFAULT || role.token.noDefaultPolicy),
  )
  if (outside)
    throw invalid(`token policies must be a subset of the role's allowed policies: ${outside} is not`)
  return policies
}

function forbid(role: TokenRole, policies: readonly string[]): void {
  const forbidden = policies.find(name => isDisallowed(role, name))
  if (forbidden) throw invalid(`token policy ${forbidden} is disallowed by this role`)
}
