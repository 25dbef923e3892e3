import type { JwtConfig, StoredIssuer } from '../../model/jwt.ts'
import type { OrganizationMap } from '../../model/organization.ts'
import type { Role } from '../../model/role.ts'

interface MountFacts {
  /** absent: the mount accepts no logins by token */
  jwt?: JwtConfig
  /** absent: the mount reads no organization */
  map?: OrganizationMap
  /** epoch milliseconds */
  now: number
  legacySignatures: boolean
}

/** The settings of a mount, together with what its roles need. */
interface LoginFacts {
  /** `serverId`: value of the header that iam logins must sign; empty: none */
  serverId: string
  jwt?: JwtConfig
  /** `hasIamRoles`: at least one role accepts iam logins */
  hasIamRoles: boolean
  /** `hasJwtServiceRoles`: at least one role gives service tokens for logins by token */
  hasJwtServiceRoles: boolean
}

interface RoleFacts {
  role: Role
  /** `lifeSeconds`: longest life of the role's tokens, seconds */
  lifeSeconds: number
  /** `unusedMs`: milliseconds without a login, as far as uses are tracked; absent: uses are not tracked */
  unusedMs?: number
}

/** The role that the service assumes in a satellite account. */
interface SatelliteFacts {
  account: string
  externalId: string
}

interface CertificateFacts {
  /** `endsAt` and `now`, epoch milliseconds */
  endsAt: number
  now: number
  /** `isModern`: signatures by the key are accepted without legacy signatures */
  isModern: boolean
  legacySignatures: boolean
}

/** A principal that a role binds by its exact ARN, and IAM's answer about the principal. */
interface BoundPrincipalFacts {
  /** ARN in the role */
  arn: string
  /** unique ID that the role binds; absent: the role binds none */
  boundId?: string
  /** `bindsPods`: the role binds tags that EKS Pod Identity writes */
  bindsPods: boolean
  /** `comparesPath`: the role binds the whole ARN; false: logins compare the ARN without its path */
  comparesPath: boolean
  /** IAM's answer; absent: IAM has no such principal */
  principal?: { arn: string; uniqueId: string; trustPolicy?: string }
}

/** The facts that a rule looks at, by the kind of thing that the rule judges. */
export interface ReviewFacts {
  mount: MountFacts
  logins: LoginFacts
  role: RoleFacts
  satellite: SatelliteFacts
  issuer: StoredIssuer
  certificate: CertificateFacts
  principal: BoundPrincipalFacts
}

export type ReviewedKind = keyof ReviewFacts

/** A source of facts, which a review reads or asks. A rule is `not asked` if its source was not looked at as a whole. */
export type ReviewSource =
  | 'settings'
  | 'logins'
  | 'roles'
  | 'uses'
  | 'satellites'
  | 'issuers'
  | 'certificates'
  | 'iam'

export const severities = ['high', 'medium', 'low'] as const

export type Severity = (typeof severities)[number]
