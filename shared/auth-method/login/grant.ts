import type { LoginRecord } from '../../model/token.ts'
import type { TokenParameters } from '../../tokens/terms.ts'

/** The instance of a login whose token ends with it. A login without an instance is refused. */
export interface GrantedInstance {
  /** 12 digits: the account of the instance */
  account: string
  id: string
  region: string
}

/** The token that a login asks for. @see docs/spec/tokens.md#minting */
export interface LoginGrant {
  /** path of the login, without leading slash */
  path: string
  login: LoginRecord
  /** suffix of the token's display name, after the mount's name */
  displayName: string
  /** metadata stored on the token */
  metadata: Readonly<Record<string, string>>
  /** metadata that only the login response contains */
  disclosed: Readonly<Record<string, string>>
  alias: { name: string; metadata: Readonly<Record<string, string>> }
  /** the role's token parameters, limited by its role tag */
  terms: TokenParameters
  /**
   * `endsWith`: the instance with which the token ends, if the role has `revoke_on_termination`. `unknown`: the login names
   * no instance, and is refused. Absent: the token does not depend on an instance
   */
  endsWith?: GrantedInstance | 'unknown' | undefined
  /** client address of the login */
  source: string
}
