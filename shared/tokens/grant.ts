import type { LoginRecord } from './token.ts'

/** What a login method wants minted. @see auth-behaviour 4.4 */
export interface Grant {
  /** path of the login, without leading slash */
  path: string
  login: LoginRecord
  /** what follows the mount's name in the token's display name */
  displayName: string
  /** as the rules decided them; `default` is added unless suppressed */
  policies: readonly string[]
  noDefaultPolicy: boolean
  /** on the token */
  metadata: Readonly<Record<string, string>>
  /** only in the answer */
  disclosed: Readonly<Record<string, string>>
  alias: { name: string; metadata: Readonly<Record<string, string>> }
  /** seconds, as all that follow; `methodMax` of role and role tag together */
  ttl: number
  methodMax: number
  period: number
  explicitMax: number
  numUses: number
  boundCidrs: readonly string[]
  type: 'default' | 'service' | 'batch'
}
