import { randomBytes } from 'node:crypto'
import type { DocumentAuthority } from '../documents/authority.ts'

/** The owner of long-term keys: an IAM user, or the root user of an account. */
export interface IamUser {
  account: string
  partition: string
  /** Begins and ends with a slash. */
  path: string
  /** Name of the user; empty for the root user. */
  name: string
  /** `AIDA…`; the account number for the root user. */
  userId: string
  arn: string
  /** Milliseconds since 1970. */
  createdAt: number
  accessKeyIds: string[]
}

/** A role that may be assumed. */
export interface IamRole {
  account: string
  partition: string
  path: string
  name: string
  /** `AROA…` */
  roleId: string
  arn: string
  createdAt: number
  /** Principals that may assume the role; null allows any principal. */
  trusts: string[] | null
  externalId: string | null
  /** Tokens of an identity provider that may assume the role; absent: none. */
  webIdentity?: WebIdentityTrust | undefined
  /** JSON of the trust policy that GetRole returns; absent: a policy of `trusts`. STS ignores the text. */
  trustPolicy?: string | undefined
}

/** The conditions of a trust policy on tokens of an identity provider. */
export interface WebIdentityTrust {
  /** The issuer's URL. */
  issuer: string
  /** The token's `aud` equals one of these texts. */
  audience: string[]
  /** The token's `sub` matches one of these patterns, in which `*` and `?` are wildcards. */
  subject: string[]
}

/** An identity provider for OpenID Connect, which an account trusts. */
export interface IamIdentityProvider {
  account: string
  /** URL of the issuer, with https. */
  url: string
  arn: string
  /** Values of `aud` that the account accepts, which IAM calls client IDs. */
  audiences: string[]
}

/** A pair of RSA keys, both PEM. */
export interface RsaKeyPair {
  publicKey: string
  privateKey: string
}

/** An instance profile and the names of its roles. */
export interface IamInstanceProfile {
  account: string
  partition: string
  path: string
  name: string
  /** `AIPA…` */
  profileId: string
  arn: string
  createdAt: number
  roles: string[]
}

/** A long-term key. */
export interface IamAccessKey {
  accessKeyId: string
  secretAccessKey: string
  account: string
  /** Name of the key's user; empty for the root user. */
  user: string
  status: 'Active' | 'Inactive'
  createdAt: number
}

/** An EC2 instance. */
export interface Ec2Instance {
  account: string
  region: string
  instanceId: string
  reservationId: string
  imageId: string
  state: Ec2InstanceState
  vpcId: string | null
  subnetId: string | null
  instanceProfileArn: string | null
  tags: Record<string, string>
  /** Time of the last launch or start, RFC 3339, whole seconds. */
  pendingTime: string
  privateIp: string
  availabilityZone: string
  instanceType: string
  architecture: string
}

/** A signing key of an issuer of tokens. */
export interface IssuerKeyPair {
  kid: string
  alg: 'RS256' | 'ES384'
  /** PEM */
  privateKey: string
  /** The public key as the issuer publishes it. */
  jwk: Record<string, unknown>
}

/** The issuer of tokens of an account. */
export interface WebIdentityIssuer {
  /** UUID */
  id: string
  account: string
  partition: 'aws' | 'aws-cn'
  enabled: boolean
  /** Number of rotations of the keys. */
  generation: number
  keys: IssuerKeyPair[]
}

/** The place of an account in an organization. */
export interface OrganizationPlace {
  organizationId: string
  path: string
  /** The claim `ou_path` is a text, as documented, instead of a list, as observed. */
  pathAsText: boolean
  /** The account is the management account of its organization. */
  management?: boolean | undefined
  /** AWS suspended the account, or the account was closed. */
  suspended?: boolean | undefined
}

/** States of an instance with the code EC2 gives each (InstanceState, EC2 API reference). */
export const ec2InstanceStates = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
} as const

/** One of {@link ec2InstanceStates}. */
export type Ec2InstanceState = keyof typeof ec2InstanceStates

/** The state that survives a restart with a state file. */
export interface ProviderState {
  /** Key for session tokens, metadata tokens and data keys; base64. */
  sealKey: string
  authority: DocumentAuthority | null
  /** IAM users by `account/name`; the root user has no name. */
  users: Map<string, IamUser>
  roles: Map<string, IamRole>
  profiles: Map<string, IamInstanceProfile>
  /** Identity providers by `account/URL`. */
  identityProviders: Map<string, IamIdentityProvider>
  /** Key of all imitated issuers, such as GitHub and an EKS cluster; null until the first token. */
  issuerKey: RsaKeyPair | null
  /** By access key id. */
  accessKeys: Map<string, IamAccessKey>
  /** By `account/region`, then by instance id. */
  instances: Map<string, Map<string, Ec2Instance>>
  /** Issuers of tokens by account. */
  issuers: Map<string, WebIdentityIssuer>
  /** Places in organizations by account. */
  organizations: Map<string, OrganizationPlace>
  /** `principal ARN|service:Action`. */
  denied: Set<string>
}

/** Creates an imitated AWS without resources. */
export const emptyProviderState = (): ProviderState => ({
  sealKey: randomBytes(32).toString('base64'),
  authority: null,
  users: new Map(),
  roles: new Map(),
  profiles: new Map(),
  identityProviders: new Map(),
  issuerKey: null,
  accessKeys: new Map(),
  instances: new Map(),
  issuers: new Map(),
  organizations: new Map(),
  denied: new Set(),
})
