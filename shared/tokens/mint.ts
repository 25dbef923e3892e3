import type { ResponseAuth } from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import {
  accessorOfToken,
  BATCH_TOKEN_PREFIX,
  MAX_TOKEN_LENGTH,
  type Token,
  tokenEntityId,
  tokenExpirySecond,
  tokenHashOf,
} from '../model/token.ts'
import type { FieldCipher } from '../ports.ts'
import { type Change, createItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import type { Secret } from '../values/secret.ts'

/** Builds `<mount>-<name>` from letters, digits and dashes. @see docs/spec/tokens.md#minting */
export const tokenDisplayName = (prefix: string, name: string): string =>
  (name === '' ? prefix : `${prefix}-${name}`).replace(/[^A-Za-z0-9-]/g, '-').replace(/^-+|-+$/g, '')

interface Issued {
  token: Token
  /** text of the token for its holder */
  text: string
  changes: readonly Change[]
}

/** Issues a service token, which is stored under the hash of its text. */
export function issueServiceToken(token: Token, text: Secret, hash = tokenHashOf(text.reveal())): Issued {
  const stored = { ...token, hash }
  const expires = tokenExpirySecond(stored)
  return {
    token: stored,
    text: text.reveal(),
    changes: [
      createItem(key('token', accessorOfToken(stored)), stored, expires === undefined ? {} : { expires }),
    ],
  }
}

/**
 * Issues a batch token, which contains all its data and is not stored.
 * @throws ApiError `invalid_request` if the token is longer than a request may carry
 */
export async function issueBatchToken(token: Token, cipher: FieldCipher): Promise<Issued> {
  const text = BATCH_TOKEN_PREFIX + (await cipher.encryptToken(JSON.stringify(token)))
  if (text.length > MAX_TOKEN_LENGTH)
    throw invalidRequestError(
      'the policies and metadata are too long for a batch token, which contains its policies and metadata',
    )
  return { token, text, changes: [] }
}

/** Builds the `auth` object of a token. @see docs/spec/transport.md#successes */
export const buildResponseAuth = (
  token: Token,
  text: string,
  metadata: Readonly<Record<string, string>> | null,
  identityPolicies: readonly string[],
): ResponseAuth =>
  defined({
    client_token: text,
    accessor: accessorOfToken(token),
    policies: [...new Set([...token.policies, ...identityPolicies])].sort(),
    token_policies: token.policies.length > 0 ? token.policies : undefined,
    identity_policies: identityPolicies.length > 0 ? identityPolicies : undefined,
    metadata,
    lease_duration: token.ttl,
    renewable: token.renewable,
    entity_id: tokenEntityId(token),
    token_type: token.type,
    orphan: token.parent === undefined,
    mfa_requirement: null,
    num_uses: token.numUses,
  })
