/** Types of mounts: the auth method under its names, and the token store. @see docs/spec/mounts.md#types */
export const methodTypes = ['cloud', 'aws', 'cloud-ec2', 'aws-ec2'] as const

export type MountType = (typeof methodTypes)[number] | 'token'

export const mountTokenTypes = ['default-service', 'default-batch', 'service', 'batch'] as const

/** An enabled auth method. */
export interface Mount {
  /** one segment, without slashes */
  path: string
  type: MountType
  /** names the mount in keys of its items and in tokens; never reused */
  accessor: string
  uuid: string
  description: string
  /** seconds; 0 is the system's 768 h */
  defaultLeaseTtl: number
  maxLeaseTtl: number
  tokenType: (typeof mountTokenTypes)[number]
  /** wire texts kept for read-back (`listing_visibility` and the like) */
  options: Readonly<Record<string, unknown>>
}

/** All mounts in one item: they are read together with every request. */
export interface MountTable {
  mounts: readonly Mount[]
  /** disabled mounts whose items are still being removed */
  removing: readonly DisabledMount[]
}

export interface DisabledMount extends Mount {
  /** epoch milliseconds */
  disabledAt: number
}

/** 768 h, the lifetime where neither role nor mount says otherwise, in seconds. */
export const SYSTEM_LEASE_TTL_SECONDS = 768 * 3600

/** Greatest lifetime of a mount's tokens, seconds. */
export const maxTtlOf = (mount: Pick<Mount, 'maxLeaseTtl'>): number =>
  mount.maxLeaseTtl || SYSTEM_LEASE_TTL_SECONDS

/** Lifetime of a mount's tokens when nothing else is said, seconds. */
export const defaultTtlOf = (mount: Pick<Mount, 'defaultLeaseTtl'>): number =>
  mount.defaultLeaseTtl || SYSTEM_LEASE_TTL_SECONDS

export const findMountByPath = (table: MountTable, path: string): Mount | undefined =>
  table.mounts.find(mount => mount.path === path)

/** Whether a mount of this accessor is still enabled: tokens of any other are dead. */
export const isMounted = (table: MountTable, accessor: string): boolean =>
  table.mounts.some(mount => mount.accessor === accessor)

/** Names of parameters, or of data of answers, that the audit log shows as they are in requests to a mount. */
export const unmaskedKeys = (mount: Mount | undefined, part: 'request' | 'response'): readonly string[] =>
  (mount?.options[`audit_non_hmac_${part}_keys`] as readonly string[] | undefined) ?? []

/** Whether the mount is the auth method under one of its names. */
export const isMethod = (mount: Mount): boolean => mount.type !== 'token'

/** Mounts of the old ec2-only types give roles the auth type ec2 unless told otherwise. */
export const isLegacyEc2 = (mount: Mount): boolean => mount.type === 'cloud-ec2' || mount.type === 'aws-ec2'
