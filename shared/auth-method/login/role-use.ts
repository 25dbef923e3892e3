import type { MountCall } from '../../api/call.ts'
import { ROLE_USE_DAY_MS } from '../../model/role-use.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { rememberKeyHint } from './hints.ts'

/**
 * Stores today as the last day on which a login used a role. An environment writes the day once, and
 * does not repeat the write. After a conflict another environment has written it. After a failure the next login writes it.
 */
export async function noteRoleUse(call: MountCall, role: string): Promise<void> {
  const { ports, mount, now, cluster } = call
  const hint = `use ${mount.accessor} ${role}`
  const day = Math.floor(now / ROLE_USE_DAY_MS)
  if (ports.keyHints.get(hint) === String(day)) return
  const place = key('role-use', mount.accessor, role)
  const [stored] = await ports.store.read([place])
  if (!stored || stored.data.day < day)
    await ports.store.commit([replaceItem(place, stored, { day })], cluster, { tries: 1 })
  rememberKeyHint(ports, hint, String(day))
}
