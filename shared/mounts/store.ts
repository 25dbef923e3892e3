import type { Mount, MountTable, MountType } from '../model/mount.ts'
import { type Change, put, replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'

/**
 * Stores the mounts. Their revision goes with them in one commit: requests read it instead of the table, which
 * they remember by it.
 * @param read the table as it was read; undefined: there must be none
 */
export const storeMounts = (read: Item<'mounts'> | undefined, next: MountTable): Change[] => [
  replace(key('mounts'), read, next),
  put(key('mounts-revision'), {}),
]

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
