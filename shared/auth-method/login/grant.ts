import type { LoginRecord } from '../../model/token.ts'
import type { TokenParameters } from '../../tokens/terms.ts'

/** What a login method wants minted. @see docs/spec/tokens.md#minting */
export interface Grant {
  /** path of the login, without leading slash */
  path: string
  login: LoginRecord
  /** what follows the mount's name in the token's display name */
  displayName: string
  /** on the token */
  metadata: Readonly<Record<string, string>>
  /** only in the answer */
  disclosed: Readonly<Record<string, string>>
  alias: { name: string; metadata: Readonly<Record<string, string>> }
  /** those of the role, within what its role tag allows */
  terms: TokenParameters
  /** address that the login came from */
  source: string
}
