import type { Mount, MountTable, MountType } from '../model/mount.ts'
import { type Change, putItem, replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'

/**
 * Stores the mount table and its revision in one commit. Requests read only the small revision and remember the table by it.
 * @param read the table as read; undefined: it must not exist
 */
export const storeMounts = (read: Item<'mounts'> | undefined, next: MountTable): Change[] => [
  replaceItem(key('mounts'), read, next),
  putItem(key('mounts-revision'), {}),
]

/**
 * Builds a mount with default settings. The mount's accessor is new, so items of an earlier mount at the same path
 * stay separate.
 */
export const createMount = (
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
