import type { Auth } from '../api/call.ts'
import { ApiError, invalid } from '../api/errors.ts'
import type { Alias } from '../model/alias.ts'
import { defaultTtlOf, type Mount, maxTtlOf } from '../model/mount.ts'
import {
  accessorIn,
  BATCH_PREFIX,
  endOf,
  entityIdOf,
  hashOf,
  LONGEST_TOKEN,
  secondsOf,
  type Token,
} from '../model/token.ts'
import { sanitisePolicies, withDefault } from '../policies/names.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, create } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import type { Secret } from '../values/secret.ts'
import type { Grant } from './grant.ts'
import { networksOf } from './networks.ts'
import { keptTerms } from './parameters.ts'
import type { TokenParameters } from './terms.ts'
import { lifetime } from './ttl.ts'

/** Everything else that minting a login's token depends on. */
export interface MintFacts {
  mount: Mount
  alias: Alias
  /** epoch milliseconds */
  now: number
  /** text of the new token; a batch token has another one */
  text: Secret
}

export interface Minted {
  auth: Auth
  changes: readonly Change[]
  warnings: readonly string[]
}

/** Mints the token of a login. A service token is one item to write, a batch token none. */
export async function mintLogin(grant: Grant, facts: MintFacts, cipher: FieldCipher): Promise<Minted> {
  const { token, warnings } = grantedToken(grant, facts)
  const minted = token.type === 'batch' ? await issueBatch(token, cipher) : issueService(token, facts.text)
  const identityPolicies = sanitisePolicies(facts.alias.policies)
  return {
    ...minted,
    auth: authOf(minted.token, minted.text, { ...token.meta, ...grant.disclosed }, identityPolicies),
    warnings,
  }
}

/**
 * The token that a grant comes to, not issued yet.
 * @throws ApiError when there can be none: the entity is disabled, or the mount and the role do not go together
 */
export function grantedToken(
  grant: Grant,
  { mount, alias, now }: Omit<MintFacts, 'text'>,
): { token: Token; warnings: string[] } {
  if (alias.disabled) throw new ApiError('permission_denied', '', { reason: { why: 'entity-disabled' } })
  const { terms } = grant
  const type = tokenTypeOf(terms.type, mount)
  const granted = lifetime(
    {
      increment: 0,
      ttl: terms.ttl,
      period: terms.period,
      methodMax: terms.maxTtl,
      explicitMax: terms.explicitMaxTtl,
    },
    { default: defaultTtlOf(mount), max: maxTtlOf(mount) },
    secondsOf(now),
    secondsOf(now),
  )
  if ('why' in granted) throw invalid(granted.text)
  if (type === 'batch' && (terms.period > 0 || terms.numUses > 0)) {
    throw invalid('the role asks for a periodic or limited-use token, but the mount gives batch tokens')
  }
  const token: Token = {
    type,
    hash: '',
    path: grant.path,
    displayName: displayName(mount.path, grant.displayName),
    policies: withDefault(terms.policies, terms.noDefaultPolicy),
    meta: grant.metadata,
    mount: mount.accessor,
    entity: { id: alias.entityId, mount: alias.mount, alias: alias.name },
    login: grant.login,
    depth: 0,
    renewable: type === 'service',
    createdAt: now,
    ttl: granted.ttl,
    creationTtl: granted.ttl,
    ...keptTerms({ ...terms, boundCidrs: networksOf(terms, grant.source) }),
  }
  return { token, warnings: granted.warnings }
}

/** What a role's or mount's token type comes to. */
export function tokenTypeOf(wanted: TokenParameters['type'], mount: Pick<Mount, 'tokenType'>): Token['type'] {
  if (mount.tokenType === 'service' || mount.tokenType === 'batch') return mount.tokenType
  if (wanted !== 'default') return wanted
  return mount.tokenType === 'default-batch' ? 'batch' : 'service'
}

/** `<mount>-<name>` of letters, digits and dashes. @see docs/spec/tokens.md#minting */
export const displayName = (prefix: string, name: string): string =>
  (name === '' ? prefix : `${prefix}-${name}`).replace(/[^A-Za-z0-9-]/g, '-').replace(/^-+|-+$/g, '')

interface Issued {
  token: Token
  /** the token's text as its holder gets it */
  text: string
  changes: readonly Change[]
}

/** A stored token under the hash of its text: by default that of a random one. */
export function issueService(token: Token, text: Secret, hash = hashOf(text.reveal())): Issued {
  const stored = { ...token, hash }
  const expires = endOf(stored)
  return {
    token: stored,
    text: text.reveal(),
    changes: [create(key('token', accessorIn(stored)), stored, expires === undefined ? {} : { expires })],
  }
}

/**
 * A token that carries everything in itself: nothing is written.
 * @throws ApiError `invalid_request` when it would be longer than what a request may carry
 */
export async function issueBatch(token: Token, cipher: FieldCipher): Promise<Issued> {
  const text = BATCH_PREFIX + (await cipher.encryptToken(JSON.stringify(token)))
  if (text.length > LONGEST_TOKEN)
    throw invalid('the policies and metadata are too long for a batch token, which carries them itself')
  return { token, text, changes: [] }
}

/** The `auth` object for a token. @see docs/spec/transport.md#successes */
export const authOf = (
  token: Token,
  text: string,
  metadata: Readonly<Record<string, string>> | null,
  identityPolicies: readonly string[],
): Auth =>
  defined({
    client_token: text,
    accessor: accessorIn(token),
    policies: [...new Set([...token.policies, ...identityPolicies])].sort(),
    token_policies: token.policies.length > 0 ? token.policies : undefined,
    identity_policies: identityPolicies.length > 0 ? identityPolicies : undefined,
    metadata,
    lease_duration: token.ttl,
    renewable: token.renewable,
    entity_id: entityIdOf(token),
    token_type: token.type,
    orphan: token.parent === undefined,
    mfa_requirement: null,
    num_uses: token.numUses,
  })
