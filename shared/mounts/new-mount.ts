import type { Mount, MountType } from '../model/mount.ts'

/** A mount with its defaults. Its accessor is new: items of a mount that stood at the path before stay apart. */
export const newMount = (
  { path, type, description }: { path: string; type: MountType; description: string },
  uuid: string,
): Mount => ({
  path,
  type,
  accessor: `auth_${type}_${uuid.replaceAll('-', '').slice(0, 12)}`,
  uuid,
  description,
  defaultLeaseTtl: 0,
  maxLeaseTtl: 0,
  tokenType: 'default-service',
  options: {},
})
