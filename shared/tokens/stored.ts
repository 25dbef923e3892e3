import type { Sealed } from '../values/secret.ts'
import type { TokenParameters } from './terms.ts'

/** What tokens made through `auth/token/create/:role_name` may be. @see docs/spec/tokens.md#token-roles */
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
  /** accessor of the mount that answered, if one did */
  mount?: string
  /** epoch milliseconds */
  createdAt: number
  /** seconds */
  ttl: number
  wrappedAccessor: string
}
