import { answerAfterChanges, type CallOutcome, type MountCall, type ResponseAuth } from '../../api/call.ts'
import { ApiError, invalidRequestError } from '../../api/errors.ts'
import { ensureIdentityAlias } from '../../identity/ensure.ts'
import type { Alias } from '../../model/alias.ts'
import { defaultTtlOfMount, type Mount, maxTtlOfMount } from '../../model/mount.ts'
import { generateServiceTokenText, type Token } from '../../model/token.ts'
import { addDefaultPolicy, sanitisePolicies } from '../../policies/names.ts'
import type { FieldCipher } from '../../ports.ts'
import type { Change } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { buildResponseAuth, issueBatchToken, issueServiceToken, tokenDisplayName } from '../../tokens/mint.ts'
import { boundNetworksOf } from '../../tokens/networks.ts'
import { pickTokenTerms } from '../../tokens/parameters.ts'
import type { TokenParameters } from '../../tokens/terms.ts'
import { computeTokenLifetime } from '../../tokens/ttl.ts'
import type { Secret } from '../../values/secret.ts'
import type { LoginGrant } from './grant.ts'

/**
 * Builds the outcome of a login that passed every check. Token, entity and `more` are committed together. Changed
 * alias metadata is written after the commit in a single attempt, because many logins share an alias and the next
 * login writes the metadata again.
 *
 * @param stored the stored alias of the grant, if it exists
 */
export async function commitLogin(
  call: MountCall,
  grant: LoginGrant,
  stored: Item<'alias'> | undefined,
  more: readonly Change[] = [],
): Promise<CallOutcome> {
  const { entropy, cipher, store } = call.ports
  const mount = call.mount
  const fresh = { entityId: entropy.uuid(), aliasId: entropy.uuid() }
  const sighting = { ...grant.alias, mount: mount.accessor, now: call.now, fresh }
  const { alias, created, metadata } = ensureIdentityAlias(stored, sighting)
  const text = () => generateServiceTokenText(entropy.bytes)
  // `call.now` is the time of this attempt; the access-list entry uses the same time
  const facts = { mount, alias, now: call.now, text }
  const recordInstance =
    grant.endsWith && (await (await import('./ending.ts')).requireLivingInstance(call, grant.endsWith))
  const { auth, changes, warnings, token } = await mintLoginToken(grant, facts, cipher)
  const all = [...more, ...created, ...changes, ...(recordInstance?.(token) ?? [])]
  const outcome = answerAfterChanges(all, { kind: 'auth', auth, warnings })
  const tracks = call.fetched.get(key('identity-config', mount.accessor))?.data.usesTrackedSince !== undefined
  if (!metadata && !tracks) return outcome
  const afterwards = async () => {
    if (metadata) await store.commit([metadata], call.cluster, { tries: 1 })
    if (tracks) await (await import('./role-use.ts')).noteRoleUse(call, grant.login.role)
  }
  return { ...outcome, afterwards }
}

/** The remaining inputs for minting a login's token. */
export interface TokenMintFacts {
  mount: Mount
  alias: Alias
  /** epoch milliseconds */
  now: number
  /** makes the text of a new service token */
  text: () => Secret
}

export interface MintedLogin {
  auth: ResponseAuth
  token: Token
  changes: readonly Change[]
  warnings: readonly string[]
}

/** Mints the token of a login. A service token adds one item to the commit, a batch token adds no item. */
export async function mintLoginToken(
  grant: LoginGrant,
  facts: TokenMintFacts,
  cipher: FieldCipher,
): Promise<MintedLogin> {
  const { token, warnings } = buildLoginToken(grant, facts)
  const minted =
    token.type === 'batch' ? await issueBatchToken(token, cipher) : issueServiceToken(token, facts.text())
  const identityPolicies = sanitisePolicies(facts.alias.policies)
  return {
    ...minted,
    auth: buildResponseAuth(
      minted.token,
      minted.text,
      { ...token.meta, ...grant.disclosed },
      identityPolicies,
    ),
    warnings,
  }
}

/**
 * Builds the token of a grant, without issuing it.
 * @throws ApiError if the entity is disabled, or if the mount and the role conflict
 */
export function buildLoginToken(
  grant: LoginGrant,
  { mount, alias, now }: Omit<TokenMintFacts, 'text'>,
): { token: Token; warnings: string[] } {
  if (alias.disabled) throw new ApiError('permission_denied', '', { reason: { why: 'entity-disabled' } })
  const { terms } = grant
  const type = chooseTokenType(terms.type, mount)
  const granted = computeTokenLifetime(
    {
      increment: 0,
      ttl: terms.ttl,
      period: terms.period,
      methodMax: terms.maxTtl,
      explicitMax: terms.explicitMaxTtl,
    },
    { default: defaultTtlOfMount(mount), max: maxTtlOfMount(mount) },
    now,
    now,
  )
  if (!granted.ok) throw invalidRequestError(granted.fault.text)
  if (type === 'batch' && (terms.period > 0 || terms.numUses > 0)) {
    throw invalidRequestError(
      'the role asks for a periodic or limited-use token, but the mount gives batch tokens',
    )
  }
  const token: Token = {
    type,
    hash: '',
    path: grant.path,
    displayName: tokenDisplayName(mount.path, grant.displayName),
    policies: addDefaultPolicy(terms.policies, terms.noDefaultPolicy),
    meta: grant.metadata,
    mount: mount.accessor,
    entity: { id: alias.entityId, mount: alias.mount, alias: alias.name },
    login: grant.login,
    ...markOf(grant, mount),
    depth: 0,
    renewable: type === 'service',
    createdAt: now,
    ttl: granted.value.ttl,
    creationTtl: granted.value.ttl,
    ...pickTokenTerms({ ...terms, boundCidrs: boundNetworksOf(terms, grant.source) }),
  }
  return { token, warnings: granted.value.warnings }
}

const markOf = ({ endsWith }: LoginGrant, { accessor }: Mount): Pick<Token, 'instance'> =>
  typeof endsWith === 'object'
    ? { instance: { mount: accessor, account: endsWith.account, id: endsWith.id } }
    : {}

/** Resolves the token type from the role's and the mount's settings. */
export function chooseTokenType(
  wanted: TokenParameters['type'],
  mount: Pick<Mount, 'tokenType'>,
): Token['type'] {
  if (mount.tokenType === 'service' || mount.tokenType === 'batch') return mount.tokenType
  if (wanted !== 'default') return wanted
  return mount.tokenType === 'default-batch' ? 'batch' : 'service'
}
