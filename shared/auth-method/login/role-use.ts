import type { MountCall } from '../../api/call.ts'
import { ROLE_USE_DAY_MS } from '../../model/role-use.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { rememberKeyHint } from './hints.ts'

/**
 * Stores today as the last day on which a login used a role. An environment stores it once a day, in one attempt: after a
 * conflict another environment has stored it, and after a failure the next login stores it.
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
