import type { Auth } from '../api/call.ts'
import { invalid } from '../api/errors.ts'
import {
  accessorIn,
  BATCH_PREFIX,
  entityIdOf,
  expirySecondOf,
  hashOf,
  LONGEST_TOKEN,
  type Token,
} from '../model/token.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, create } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import type { Secret } from '../values/secret.ts'

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
  const expires = expirySecondOf(stored)
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
