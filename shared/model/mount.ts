/**
 * The types of mounts: the auth method under its names, and the token store.
 * @see docs/spec/mounts.md#types
 */
export const authMethodTypes = ['cloud', 'aws', 'cloud-ec2', 'aws-ec2'] as const

export type MountType = (typeof authMethodTypes)[number] | 'token'

export const mountTokenTypes = ['default-service', 'default-batch', 'service', 'batch'] as const

/** An enabled auth method. */
export interface Mount {
  /** one segment, without slashes */
  path: string
  type: MountType
  /** `accessor` identifies the mount in the keys of its items and in tokens; never reused */
  accessor: string
  uuid: string
  description: string
  /** `defaultLeaseTtl`, seconds; 0: the system's 768 h */
  defaultLeaseTtl: number
  maxLeaseTtl: number
  tokenType: (typeof mountTokenTypes)[number]
  /** `options`: request values kept for read-back (`listing_visibility` and others) */
  options: Readonly<Record<string, unknown>>
}

/** All mounts in one item, because every request reads all mounts. */
export interface MountTable {
  mounts: readonly Mount[]
  /** disabled mounts whose items are still being removed */
  removing: readonly DisabledMount[]
}

export interface DisabledMount extends Mount {
  /** epoch milliseconds */
  disabledAt: number
}

/** Lifetime of a token if neither role nor mount sets one: 768 h in seconds. */
export const SYSTEM_LEASE_TTL_SECONDS = 768 * 3600

/** Returns the maximum lifetime of a mount's tokens, seconds. */
export const maxTtlOfMount = (mount: Pick<Mount, 'maxLeaseTtl'>): number =>
  mount.maxLeaseTtl || SYSTEM_LEASE_TTL_SECONDS

/** Returns the default lifetime of a mount's tokens, seconds. */
export const defaultTtlOfMount = (mount: Pick<Mount, 'defaultLeaseTtl'>): number =>
  mount.defaultLeaseTtl || SYSTEM_LEASE_TTL_SECONDS

export const findMountByPath = (table: MountTable, path: string): Mount | undefined =>
  table.mounts.find(mount => mount.path === path)

/** Reports whether a mount with this accessor is enabled. Tokens whose mount has no enabled accessor are invalid. */
export const isMountedAccessor = (table: MountTable, accessor: string): boolean =>
  table.mounts.some(mount => mount.accessor === accessor)

/** Returns the names of parameters or response fields that the audit log shows in clear for requests to a mount. */
export const unmaskedAuditKeys = (
  mount: Mount | undefined,
  part: 'request' | 'response',
): readonly string[] => (mount?.options[`audit_non_hmac_${part}_keys`] as readonly string[] | undefined) ?? []

/** Reports whether the mount is the auth method under one of its names. */
export const isAuthMethodMount = (mount: Mount): boolean => mount.type !== 'token'

/**
 * Reports whether a mount has one of the old ec2-only types. Roles of an ec2-only mount get the auth type ec2 by
 * default.
 */
export const isLegacyEc2 = (mount: Mount): boolean => mount.type === 'cloud-ec2' || mount.type === 'aws-ec2'
