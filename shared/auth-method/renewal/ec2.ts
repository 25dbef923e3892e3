import type { Call } from '../../api/call.ts'
import { type Mount, maxTtlOf } from '../../mounts/mount.ts'
import { replace } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import type { LoginRecord } from '../../tokens/token.ts'
import { accessTo } from '../accounts.ts'
import { stateFault } from '../login/instance.ts'
import { defaultTidy, sweepTimes } from '../tidy/settings.ts'
import type { Renewal } from './outcome.ts'
import { notRenewed, sameRole } from './role.ts'

/**
 * The instance must run and must still be on the access list: deleting its entry stops its renewals.
 * @see auth-behaviour 5, D-11
 */
export async function renewEc2(call: Call, mount: Mount, login: LoginRecord): Promise<Renewal> {
  const { instanceId, region, account, tagMaxTtl = 0 } = login
  if (!instanceId || !region) throw notRenewed('login-unknown')
  const [roleItem, entry, client, sts, tidy] = await call.ports.store.read([
    key('role', mount.accessor, login.role),
    key('access', mount.accessor, instanceId),
    key('client-config', mount.accessor),
    key('sts-role', mount.accessor, account),
    key('tidy-settings', mount.accessor, 'identity-accesslist'),
  ])
  const role = sameRole(roleItem, login)
  if (!entry) throw notRenewed('entry-gone')
  const instance = await call.once('instance', async () =>
    call.ports.instances.describe(
      await accessTo(account, region, { client, sts }, call.ports.sealer),
      instanceId,
      call.request.deadline,
    ),
  )
  if (stateFault(instance, instanceId)) throw notRenewed('instance-not-running')
  const limits = [role.token.maxTtl, tagMaxTtl].filter(limit => limit > 0)
  const expiresAt = call.now + Math.max(maxTtlOf(mount), ...limits) * 1000
  const renewed = { ...entry.data, updatedAt: call.now, expiresAt }
  return {
    ttl: role.token.ttl,
    methodMax: Math.min(maxTtlOf(mount), ...limits),
    period: role.token.period,
    changes: [replace(entry, entry, renewed, sweepTimes(expiresAt, tidy?.data ?? defaultTidy))],
  }
}
