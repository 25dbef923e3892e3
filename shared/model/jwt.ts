export type JwtAlgorithm = 'RS256' | 'ES384'

/** The settings of a mount for logins by AWS-signed tokens. Durations are seconds. @see docs/spec/configuration.md#jwt */
export interface JwtConfig {
  boundAudiences: readonly string[]
  /** `organizations` whose accounts may log in although their issuers are not configured */
  organizations: readonly string[]
  algorithms: readonly JwtAlgorithm[]
  /** `leeway`: accepted difference of the clocks */
  leeway: number
  maxTokenAge: number
  singleUse: boolean
  allowSeveralAudiences: boolean
  maxKeyAge: number
  blockedAccounts: readonly string[]
}

/** A public key of an issuer. RSA keys have `n`, P-384 keys have `x` and `y`; all base64url. */
export interface IssuerKey {
  kid: string
  alg: JwtAlgorithm
  n?: string
  x?: string
  y?: string
}

/** An issuer of AWS-signed tokens, by its UUID. Times are epoch milliseconds. */
export interface StoredIssuer {
  /** 12 digits: the only account for which the issuer's tokens speak */
  account: string
  partition: 'aws' | 'aws-cn'
  /** `learnt`: the first login of an account of one of the mount's organizations stored the issuer */
  learnt: boolean
  blocked: boolean
  /** `superseded`: a newer issuer speaks for the account */
  superseded?: true
  keys: readonly IssuerKey[]
  fetchedAt: number
  /** `changedAt`: when a fetch returned other keys than the one before */
  changedAt: number
  /** `lastError`: why the last refresh failed; absent: it succeeded */
  lastError?: string
}

/** The issuer that speaks for an account. */
export interface AccountIssuer {
  issuer: string
}

/** AWS's claims with which the bounds of a role are compared. A claim that a token lacks is absent. */
export interface BoundClaims {
  orgId?: string
  orgPaths?: readonly string[]
  instanceArn?: string
  vpcId?: string
  metadataVersion?: number
  lambdaArn?: string
  sourceIdentity?: string
  identityStoreUserId?: string
  federatedProvider?: string
}

/** The claims of a login by token that a renewal compares again. */
export interface LoginClaims extends BoundClaims {
  /** UUID of the issuer */
  issuer: string
  /** ARN of the user or role, with its path */
  sub: string
  /** `principalTags`: only those that the role bound at the login */
  principalTags?: Readonly<Record<string, string>>
}
