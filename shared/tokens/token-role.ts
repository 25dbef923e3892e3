import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  noContentAnswer,
} from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import { boolField, listField, textField } from '../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../api/subject.ts'
import { SYSTEM_LEASE_TTL_SECONDS } from '../model/mount.ts'
import type { TokenRole } from '../model/token-role.ts'
import { DEFAULT_POLICY_NAME, normalisePolicySet } from '../policies/names.ts'
import { replaceItem } from '../storage/changes.ts'
import { matchesGlob } from '../values/pattern.ts'
import { createAndStoreToken, type createTokenFields, type TokenRoleRules } from './create.ts'
import {
  createTokenTermFields,
  defaultTokenParameters,
  mergeTokenParameters,
  showTokenParameters,
  tokenParameterWarnings,
} from './parameters.ts'
import { tokenTermRows } from './terms.ts'

export const tokenRoleFields = {
  allowed_policies: listField('Policies that tokens may have; empty: policies of the caller', {
    counts: normalisePolicySet,
  }),
  disallowed_policies: listField('Policies that tokens may not have', { counts: normalisePolicySet }),
  allowed_policies_glob: listField(
    'Patterns of further policies that tokens may have; `*` is any text, anywhere',
    {
      counts: normalisePolicySet,
    },
  ),
  disallowed_policies_glob: listField(
    'Patterns of policies that tokens may not have; `*` is any text, anywhere',
    {
      counts: normalisePolicySet,
    },
  ),
  allowed_entity_aliases: listField('Not supported: an entity comes from a login'),
  orphan: boolField('Tokens have no parent'),
  renewable: boolField('Tokens can be renewed; default true'),
  path_suffix: textField('Appended to the path of tokens'),
  ...createTokenTermFields('token-role'),
  token_type: textField(
    '`service`, `batch`, or `default-service` and `default-batch`, which apply if the request sets no type',
  ),
}

const initial: TokenRole = {
  allowedPolicies: [],
  disallowedPolicies: [],
  allowedGlobs: [],
  disallowedGlobs: [],
  orphan: false,
  renewable: true,
  pathSuffix: '',
  token: defaultTokenParameters,
}

/** Handles POST auth/token/roles/:role_name. Fields that the request leaves out keep their values. */
export function writeTokenRole(call: Call<typeof tokenRoleFields>): CallOutcome {
  const stored = subjectOf(call, 'token-role')
  const before = stored?.data ?? initial
  const { parameters } = call
  // unlike the policies of a token, the lists of a token role keep other names next to `root`
  const names = (policies: readonly string[] | undefined, kept: readonly string[]) =>
    policies ? normalisePolicySet(policies) : kept
  if (parameters.allowed_entity_aliases?.length)
    throw invalidRequestError('allowed_entity_aliases is not supported: an entity comes from a login')
  const next: TokenRole = {
    allowedPolicies: names(parameters.allowed_policies, before.allowedPolicies),
    disallowedPolicies: names(parameters.disallowed_policies, before.disallowedPolicies),
    allowedGlobs: names(parameters.allowed_policies_glob, before.allowedGlobs),
    disallowedGlobs: names(parameters.disallowed_policies_glob, before.disallowedGlobs),
    orphan: parameters.orphan ?? before.orphan,
    renewable: parameters.renewable ?? before.renewable,
    pathSuffix: parameters.path_suffix ?? before.pathSuffix,
    ...otherwiseOf(call.parameters.token_type, before),
    token: mergeTokenParameters(before.token, parametersOf(parameters), SYSTEM_LEASE_TTL_SECONDS),
  }
  if (!/^[\w.-]*$/.test(next.pathSuffix))
    throw invalidRequestError('path_suffix may hold letters, digits, "_", "." and "-"')
  return answerAfterChanges(
    [replaceItem(subjectKeyOf(call, 'token-role'), stored, next)],
    noContentAnswer([
      ...tokenParameterWarnings(next.token, SYSTEM_LEASE_TTL_SECONDS),
      ...patternWarnings(next),
    ]),
  )
}

function patternWarnings({ allowedPolicies, disallowedPolicies }: TokenRole): string[] {
  const lists = { allowed_policies: allowedPolicies, disallowed_policies: disallowedPolicies }
  return Object.entries(lists).flatMap(([field, names]) =>
    names
      .filter(name => name.includes('*'))
      .map(name => `${field}: "${name}" is the name of one policy; patterns belong in ${field}_glob`),
  )
}

/**
 * Reads the second half of `default-service` and `default-batch`. The token type stays unchanged if the request
 * sets no type.
 */
function otherwiseOf(type: string | undefined, before: TokenRole): Pick<TokenRole, 'otherwise'> {
  if (type?.startsWith('default-') && !['default-service', 'default-batch'].includes(type))
    throw invalidRequestError('token_type must be service, batch, default-service or default-batch')
  const batch = type === undefined ? before.otherwise === 'batch' : type === 'default-batch'
  return batch ? { otherwise: 'batch' } : {}
}

/**
 * Selects the parameters of a token role to merge. A read of a token role returns some deprecated names even if
 * they were never used. If a client writes that response back, a deprecated name with the neutral value is ignored
 * next to the current name.
 */
function parametersOf(
  given: Call<typeof tokenRoleFields>['parameters'],
): Parameters<typeof mergeTokenParameters>[1] {
  const mute = tokenTermRows.flatMap(([_, { name, old, neutral }]) =>
    old?.always && name in given && (given as Record<string, unknown>)[old.name] === neutral
      ? [old.name]
      : [],
  )
  const type = given.token_type?.startsWith('default-') ? { token_type: 'default' } : {}
  return Object.fromEntries(Object.entries({ ...given, ...type }).filter(([name]) => !mute.includes(name)))
}

/** Handles GET auth/token/roles/:role_name. */
export function readTokenRole(call: Call): CallOutcome {
  const { sk: name, data: role } = requireSubject(call, 'token-role')
  const { token } = role
  return answer(
    dataAnswer({
      name,
      allowed_policies: role.allowedPolicies,
      disallowed_policies: role.disallowedPolicies,
      allowed_policies_glob: role.allowedGlobs,
      disallowed_policies_glob: role.disallowedGlobs,
      orphan: role.orphan,
      renewable: role.renewable,
      path_suffix: role.pathSuffix,
      ...showTokenParameters(token, 'token-role'),
      token_type: token.type === 'default' ? `default-${role.otherwise ?? 'service'}` : token.type,
      allowed_entity_aliases: [],
    }),
  )
}

/** Handles POST auth/token/create/:role_name. The role, not the caller's rights, limits the token. */
export async function createTokenWithRole(call: Call<typeof createTokenFields>): Promise<CallOutcome> {
  const role = subjectOf(call, 'token-role')
  if (!role) throw invalidRequestError(`unknown role ${subjectKeyOf(call, 'token-role').sk}`)
  return createAndStoreToken(call, { orphan: role.data.orphan, role: rulesOf(role.sk, role.data) })
}

const rulesOf = (name: string, role: TokenRole): TokenRoleRules => ({
  name,
  ...(role.allowedPolicies.length > 0 || role.allowedGlobs.length > 0
    ? { allowed: wanted => allowedPolicies(role, wanted) }
    : {}),
  forbid: policies => forbid(role, policies),
  unlisted: [role.allowedPolicies, role.disallowedPolicies, role.allowedGlobs, role.disallowedGlobs].every(
    names => names.length === 0,
  ),
  orphan: role.orphan,
  renewable: role.renewable,
  terms: {
    ...role.token,
    noDefaultPolicy: role.token.noDefaultPolicy || isDisallowed(role, DEFAULT_POLICY_NAME),
  },
  otherwise: role.otherwise ?? 'service',
  pathSuffix: role.pathSuffix,
})

const globbed = (globs: readonly string[], name: string): boolean =>
  globs.some(glob => matchesGlob(glob, name))

const isDisallowed = (role: TokenRole, name: string): boolean =>
  role.disallowedPolicies.includes(name) || globbed(role.disallowedGlobs, name)

function allowedPolicies(role: TokenRole, wanted: readonly string[]): readonly string[] {
  const policies = wanted.length > 0 ? wanted : role.allowedPolicies
  const outside = policies.find(
    name =>
      !role.allowedPolicies.includes(name) &&
      !globbed(role.allowedGlobs, name) &&
      (name !== DEFAULT_POLICY_NAME || role.token.noDefaultPolicy),
  )
  if (outside)
    throw invalidRequestError(
      `token policies must be a subset of the role's allowed policies: ${outside} is not`,
    )
  return policies
}

function forbid(role: TokenRole, policies: readonly string[]): void {
  const forbidden = policies.find(name => isDisallowed(role, name))
  if (forbidden) throw invalidRequestError(`token policy ${forbidden} is disallowed by this role`)
}
