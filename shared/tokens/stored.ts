import type { Sealed } from '../values/secret.ts'

/** What a role says about the tokens it gives: the parameters that all methods share. */
export interface TokenParameters {
  boundCidrs: readonly string[]
  /** seconds; 0 says nothing, as in the others */
  explicitMaxTtl: number
  maxTtl: number
  noDefaultPolicy: boolean
  numUses: number
  period: number
  /** as given, not yet sanitised */
  policies: readonly string[]
  ttl: number
  type: 'default' | 'service' | 'batch'
  /** the deprecated spellings, kept only where they were used */
  legacy: { policies?: readonly string[]; ttl?: number; maxTtl?: number; period?: number }
}

/** What tokens made through `auth/token/create/:role_name` may be. @see auth-behaviour 9.2 */
export interface TokenRole {
  allowedPolicies: readonly string[]
  disallowedPolicies: readonly string[]
  allowedGlobs: readonly string[]
  disallowedGlobs: readonly string[]
  orphan: boolean
  renewable: boolean
  pathSuffix: string
  /** what tokens are where neither role nor request says it; absent: service tokens */
  otherwise?: 'batch'
  token: TokenParameters
}

/** An answer that waits for the one holder of its wrapping token. */
export interface Wrapped {
  /** SHA-256 of the wrapping token */
  hash: string
  response: Sealed
  creationPath: string
  /** epoch milliseconds */
  createdAt: number
  /** seconds */
  ttl: number
  wrappedAccessor: string
}
