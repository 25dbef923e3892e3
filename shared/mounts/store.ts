import type { MountTable } from '../model/mount.ts'
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
