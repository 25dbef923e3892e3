import type { TokenParameters } from '../tokens/terms.ts'

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
