import type { JwtConfig, StoredIssuer } from '../../shared/model/jwt.ts'

/** Builds the issuer of an account, as a login stores it. */
export const storedIssuer = (account: string, parts: Partial<StoredIssuer> = {}): StoredIssuer => ({
  account,
  partition: 'aws',
  learnt: true,
  blocked: false,
  keys: [],
  fetchedAt: 0,
  changedAt: 0,
  ...parts,
})

/** Builds the settings of a mount for logins by token, with the defaults of `config/jwt`. */
export const jwtConfig = (parts: Partial<JwtConfig> = {}): JwtConfig => ({
  boundAudiences: ['https://cloud-auth.example'],
  organizations: [],
  algorithms: ['RS256'],
  leeway: 60,
  maxTokenAge: 300,
  singleUse: true,
  allowSeveralAudiences: false,
  maxKeyAge: 86_400,
  blockedAccounts: [],
  ...parts,
})
