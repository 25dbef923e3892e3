import type { MountCall } from '../../api/call.ts'
import type { Role } from '../../model/role.ts'
import { ROLE_USE_DAY_MS } from '../../model/role-use.ts'
import { itemPartitions, key } from '../../storage/kinds.ts'
import { visitItems } from './read-pages.ts'
import { UNUSED_DAYS } from './rules.ts'

/** The uses of roles that logins have stored. */
export interface RoleUses {
  /** Returns the milliseconds without a login; undefined if uses are not tracked. */
  unusedMs(name: string, role: Role): number | undefined
  /** why not every unused role is known; absent: every one is */
  gap?: string
}

/** Reads the uses of a mount's roles, if `config/review` tracks uses. */
export async function readRoleUses(call: MountCall, until: number): Promise<RoleUses> {
  const { mount, ports, now } = call
  const [config] = await ports.store.read([key('identity-config', mount.accessor)])
  const since = config?.data.usesTrackedSince
  if (since === undefined) return { unusedMs: () => undefined, gap: 'config/review does not track uses' }
  const trackedDays = Math.floor((now - since) / ROLE_USE_DAY_MS)
  if (trackedDays < UNUSED_DAYS)
    return { unusedMs: () => undefined, gap: `uses are tracked for ${trackedDays} of ${UNUSED_DAYS} days` }
  const days = new Map<string, number>()
  const gap = await visitItems(call, itemPartitions('role-use', mount.accessor), until, ({ sk, data }) =>
    days.set(sk, data.day),
  )
  // a role without a stored use may have one among the items that were not read
  if (gap !== undefined) return { unusedMs: () => undefined, gap }
  const usedAt = (name: string) => (days.get(name) ?? 0) * ROLE_USE_DAY_MS
  return {
    unusedMs: (name, { createdAt = 0 }) => now - Math.max(since, createdAt, usedAt(name)),
  }
}
