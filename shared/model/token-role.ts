import type { TokenParameters } from '../tokens/terms.ts'

/**
 * The parameters of tokens that are made through `auth/token/create/:role_name`.
 * @see docs/spec/tokens.md#token-roles
 */
export interface TokenRole {
  allowedPolicies: readonly string[]
  disallowedPolicies: readonly string[]
  allowedGlobs: readonly string[]
  disallowedGlobs: readonly string[]
  orphan: boolean
  renewable: boolean
  pathSuffix: string
  /** `otherwise`: the token type if neither role nor request sets it; absent: service tokens */
  otherwise?: 'batch'
  token: TokenParameters
}
