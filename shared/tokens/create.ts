import { answerAfterChanges, type Call, type Caller, type CallOutcome, callerOf } from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import {
  boolField,
  durationField,
  intField,
  listField,
  type SuppliedParameters,
  textField,
  textMapField,
} from '../api/fields.ts'
import { SYSTEM_LEASE_TTL_SECONDS } from '../model/mount.ts'
import {
  accessorOfToken,
  BATCH_TOKEN_PREFIX,
  generateServiceTokenText,
  isRootToken,
  MAX_TOKEN_LENGTH,
  SERVICE_TOKEN_PREFIX,
  storedTokenHashOf,
  type Token,
} from '../model/token.ts'
import { permitsRequest } from '../policies/access.ts'
import { builtInPolicies } from '../policies/builtin.ts'
import {
  addDefaultPolicy,
  DEFAULT_POLICY_NAME,
  isPolicyName,
  normalisePolicySet,
  POLICY_NAMES_TEXT,
  ROOT_POLICY_NAME,
  sanitisePolicies,
} from '../policies/names.ts'
import { putItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { Secret } from '../values/secret.ts'
import { MAX_TOKEN_DEPTH } from './descendants.ts'
import { buildResponseAuth, issueBatchToken, issueServiceToken, tokenDisplayName } from './mint.ts'
import { boundNetworksOf } from './networks.ts'
import { defaultTokenParameters, pickTokenTerms } from './parameters.ts'
import type { TokenParameters } from './terms.ts'
import { computeTokenLifetime } from './ttl.ts'

export const createTokenFields = {
  id: textField('Text of the token, instead of a random text; needs sudo', { secret: true }),
  policies: listField('Policies; default: policies of the parent token', { counts: normalisePolicySet }),
  meta: textMapField('Metadata, texts by name'),
  no_parent: boolField('Create an orphan token; needs sudo'),
  no_default_policy: boolField('Exclude the policy `default`'),
  renewable: boolField('Whether the token can be renewed; default true'),
  ttl: durationField('Lifetime', { formerly: 'lease' }),
  explicit_max_ttl: durationField('Hard limit of the lifetime'),
  period: durationField('Period of a periodic token; needs sudo'),
  display_name: textField('Name in logs; default `token`'),
  num_uses: intField('Number of requests the token may make; 0: unlimited'),
  type: textField('`service` (default) or `batch`'),
  entity_alias: textField('Not supported: an entity comes from a login'),
}

export type CreateTokenParameters = SuppliedParameters<typeof createTokenFields>

/** The facts that decide a new token. Durations of a new token are in seconds. */
export interface CreateTokenFacts {
  parameters: CreateTokenParameters
  parent: Pick<Caller, 'token' | 'accessor'>
  /** true if the caller has sudo on this path or is root */
  privileged: boolean
  path: string
  /** client address */
  source: string
  /** epoch milliseconds */
  now: number
  /** rules of the token role; without a role the caller's own rights decide */
  role?: TokenRoleRules
  /** true if the endpoint always creates orphans */
  orphan: boolean
}

/** The rules of a token role for the tokens created with it. */
export interface TokenRoleRules {
  name: string
  /** Replaces the check against the caller's policies if the role lists policies. Throws if a requested policy is not allowed. */
  allowed?: (wanted: readonly string[]) => readonly string[]
  /** Throws if the role disallows one of the policies. */
  forbid: (policies: readonly string[]) => void
  /** true if the role lists no policies; only then may a root caller create root tokens with it */
  unlisted: boolean
  orphan: boolean
  renewable: boolean
  terms: TokenParameters
  /** token type if neither the role nor the request sets one */
  otherwise: Token['type']
  pathSuffix: string
}

/**
 * Builds the token for a create request.
 * @throws ApiError `invalid_request`
 * @see docs/spec/tokens.md#creation
 */
export function decideNewToken(facts: CreateTokenFacts): { token: Token; warnings: string[] } {
  const { parameters, parent, role, now } = facts
  const terms = role?.terms ?? defaultTokenParameters
  checkParent(facts)
  const type = typeOf(parameters, role)
  const orphan = facts.orphan || (role?.orphan ?? false) || (parameters.no_parent ?? false)
  const policies = policiesOf(facts)
  const period = smallest(parameters.period ?? 0, terms.period)
  const explicitMax = smallest(parameters.explicit_max_ttl ?? 0, terms.explicitMaxTtl)
  const numUses = smallest(parameters.num_uses ?? 0, terms.numUses)
  if (type === 'batch') checkBatch(parameters, { numUses, period, policies })
  const endless = policies.includes(ROOT_POLICY_NAME) && !parameters.ttl && period === 0 && explicitMax === 0
  const granted = endless
    ? { ttl: 0, warnings: [] }
    : grantedOf({ ttl: parameters.ttl ?? 0, period, explicitMax }, now)
  const networks = tiedTo(facts)
  const token: Token = defined({
    type,
    hash: '',
    path: role?.pathSuffix ? `${facts.path}/${role.pathSuffix}` : facts.path,
    displayName: tokenDisplayName('token', parameters.display_name ?? ''),
    policies,
    meta: parameters.meta && Object.keys(parameters.meta).length > 0 ? parameters.meta : null,
    role: role?.name,
    ...(orphan
      ? {}
      : defined({
          parent: parent.accessor,
          parentCreatedAt: parent.token.createdAt,
          entity: parent.token.entity,
          instance: parent.token.instance,
        })),
    depth: orphan ? 0 : parent.token.depth + 1,
    renewable:
      type === 'service' && granted.ttl > 0 && (role?.renewable ?? true) && (parameters.renewable ?? true),
    createdAt: now,
    ttl: granted.ttl,
    creationTtl: granted.ttl,
    ...pickTokenTerms({
      ...terms,
      numUses,
      explicitMaxTtl: explicitMax,
      period,
      boundCidrs: endless ? [] : networks,
    }),
  })
  const unbound = endless && networks.length > 0
  return { token, warnings: [...granted.warnings, ...(unbound ? [UNBOUND] : [])] }
}

const UNBOUND = 'token_bound_cidrs and token_strictly_bind_ip do not apply to a root token that never expires'

/**
 * Returns the networks of a new token: those of the token role, else those of the parent unless the caller has sudo. An orphan
 * keeps the parent's networks too.
 */
function tiedTo({ role, parent, privileged, source }: CreateTokenFacts): readonly string[] {
  const own = role ? boundNetworksOf(role.terms, source) : []
  if (own.length > 0) return own
  return privileged ? [] : parent.token.boundCidrs
}

const smallest = (...limits: number[]): number =>
  Math.min(...limits.filter(limit => limit > 0), Number.MAX_SAFE_INTEGER) % Number.MAX_SAFE_INTEGER

function checkBatch(
  parameters: CreateTokenParameters,
  { numUses, period, policies }: { numUses: number; period: number; policies: readonly string[] },
): void {
  if (numUses > 0 || period > 0 || (parameters.explicit_max_ttl ?? 0) > 0)
    throw invalidRequestError('batch tokens can have neither num_uses nor period nor explicit_max_ttl')
  if (parameters.id) throw invalidRequestError('the id of a batch token cannot be chosen')
  if (policies.includes(ROOT_POLICY_NAME)) throw invalidRequestError('batch tokens cannot be root tokens')
}

function checkParent({ parameters, parent, privileged, role, orphan }: CreateTokenFacts): void {
  const { token } = parent
  if (token.type === 'batch') throw invalidRequestError('batch tokens cannot create more tokens')
  if (token.numUses > 0) throw invalidRequestError('restricted use token cannot generate child tokens')
  if (token.depth >= MAX_TOKEN_DEPTH && !orphan && !role?.orphan)
    throw invalidRequestError(`token hierarchy is too deep (max ${MAX_TOKEN_DEPTH})`)
  if (parameters.entity_alias) throw invalidRequestError('entity_alias is not supported')
  const negative = (['num_uses'] as const).find(name => (parameters[name] ?? 0) < 0)
  if (negative) throw invalidRequestError(`${negative} must not be negative`)
  if (privileged) return
  const sudo = (['no_parent', 'id', 'period'] as const).find(name => parameters[name])
  if (sudo) throw invalidRequestError(`${sudo} needs a root token or the sudo capability`)
}

function typeOf({ type }: CreateTokenParameters, role: TokenRoleRules | undefined): Token['type'] {
  if (type !== undefined && !['', 'service', 'batch'].includes(type))
    throw invalidRequestError('type must be service or batch')
  if (role && role.terms.type !== 'default') return role.terms.type
  if (type === 'service' || type === 'batch') return type
  return role?.otherwise ?? 'service'
}

function policiesOf({ parameters, parent, privileged, role }: CreateTokenFacts): string[] {
  const wanted = sanitisePolicies(parameters.policies ?? [])
  if (wanted.some(name => !isPolicyName(name))) throw invalidRequestError(POLICY_NAMES_TEXT)
  const suppressed = (parameters.no_default_policy ?? false) || (role?.terms.noDefaultPolicy ?? false)
  const own = parent.token.policies
  const allowed = role?.allowed?.(wanted)
  const policies = allowed ? sanitisePolicies(allowed) : wanted.length > 0 ? wanted : own
  role?.forbid(policies)
  if (role && !role.unlisted && policies.includes(ROOT_POLICY_NAME))
    throw invalidRequestError('a token role that lists policies cannot give the policy root')
  if (allowed) return addDefaultPolicy(policies, suppressed)
  if (policies.includes(ROOT_POLICY_NAME) && !isRootToken(parent.token))
    throw invalidRequestError('root tokens may not be created without parent token being root')
  if (policies.includes(ROOT_POLICY_NAME) && parent.token.ttl > 0 && !parameters.ttl) {
    throw invalidRequestError(
      'only a root token that never expires can create another root token that never expires',
    )
  }
  if (!privileged && !policies.every(name => own.includes(name)))
    throw invalidRequestError('child policies must be subset of parent')
  // `default` is an ordinary policy: a caller without it cannot grant it
  return addDefaultPolicy(policies, suppressed || !(privileged || own.includes(DEFAULT_POLICY_NAME)))
}

function grantedOf(wish: { ttl: number; period: number; explicitMax: number }, now: number) {
  const granted = computeTokenLifetime(
    { increment: 0, ttl: wish.ttl, period: wish.period, methodMax: 0, explicitMax: wish.explicitMax },
    { default: SYSTEM_LEASE_TTL_SECONDS, max: SYSTEM_LEASE_TTL_SECONDS },
    now,
    now,
  )
  if (!granted.ok) throw invalidRequestError(granted.fault.text)
  return granted.value
}

/** Handles POST auth/token/create. */
export const createToken = (call: Call<typeof createTokenFields>): Promise<CallOutcome> =>
  createAndStoreToken(call, { orphan: false })

/** Handles POST auth/token/create-orphan. */
export const createOrphanToken = (call: Call<typeof createTokenFields>): Promise<CallOutcome> =>
  createAndStoreToken(call, { orphan: true })

/** Creates and stores a token, by the rules of a token role if one is given. */
export async function createAndStoreToken(
  call: Call<typeof createTokenFields>,
  how: { orphan: boolean; role?: TokenRoleRules },
): Promise<CallOutcome> {
  const caller = callerOf(call)
  const { cipher, entropy } = call.ports
  const { path, source } = call.request
  const privileged = (['update', 'create'] as const).some(capability =>
    permitsRequest(caller.rights, { path, capability, sudo: true }),
  )
  const { token, warnings } = decideNewToken({
    parameters: call.parameters,
    parent: caller,
    privileged,
    path,
    source,
    now: call.now,
    ...how,
  })
  const chosen = chosenText(call.parameters.id)
  const text = chosen ?? generateServiceTokenText(entropy.bytes)
  const hash = await storedTokenHashOf(text.reveal(), cipher)
  const issued =
    token.type === 'batch' ? await issueBatchToken(token, cipher) : issueServiceToken(token, text, hash)
  if (chosen) await checkFree(call, accessorOfToken(issued.token))
  const unknown = await unknownPolicies(call, token.policies)
  return answerAfterChanges([...issued.changes, ...wayFromParent(issued.token)], {
    kind: 'auth',
    auth: buildResponseAuth(issued.token, issued.text, token.meta, []),
    warnings: [...warnings, ...unknown.map(name => `policy "${name}" does not exist`)],
  })
}

/**
 * Returns the change that lets the parent find its child. A chosen ID may already have this entry. The commit does not check that
 * the parent still exists, because concurrent children would then conflict; a child of a revoked parent is invalid anyway.
 */
const wayFromParent = (token: Token) =>
  token.parent === undefined || token.type === 'batch'
    ? []
    : [putItem(key('child', token.parent, accessorOfToken(token)), {})]

/** The characters that a header can carry. */
const VISIBLE = /^[\x21-\x7e]+$/

function chosenText(id: string | undefined): Secret | undefined {
  if (!id) return undefined
  if (
    id.includes('.') ||
    id.startsWith(SERVICE_TOKEN_PREFIX) ||
    id.startsWith(BATCH_TOKEN_PREFIX) ||
    id.startsWith('s.')
  ) {
    throw invalidRequestError('id must not contain "." or begin like a token of this service')
  }
  if (id.length > MAX_TOKEN_LENGTH || !VISIBLE.test(id))
    throw invalidRequestError(`id may hold up to ${MAX_TOKEN_LENGTH} visible ASCII characters`)
  return new Secret(id)
}

async function checkFree({ ports }: Call, accessor: string): Promise<void> {
  const [taken] = await ports.store.read([key('token', accessor)])
  if (taken) throw invalidRequestError('a token with this id already exists')
}

async function unknownPolicies(
  call: Call<typeof createTokenFields>,
  names: readonly string[],
): Promise<string[]> {
  const asked = names.filter(name => !builtInPolicies.has(name))
  const found = asked.length > 0 ? await call.ports.store.read(asked.map(name => key('policy', name))) : []
  return asked.filter((_, index) => !found[index])
}
