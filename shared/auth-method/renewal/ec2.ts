import type { AskAws, Call } from '../../api/call.ts'
import { type Mount, maxTtlOfMount } from '../../model/mount.ts'
import type { LoginRecord } from '../../model/token.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { defaultTidySettings, tidyTimes } from '../tidy/settings.ts'
import {
  type RenewalInput,
  renewalDeniedError,
  requireOrganization,
  requireRunningInstance,
  requireSameRole,
} from './conditions.ts'

/**
 * Checks the renewal of an ec2 login. The instance must be running, and the access list must still hold the entry
 * of this login. Deleting the access-list entry stops the renewal of all tokens created under it, even if a later
 * login creates a new entry.
 * @see docs/spec/login-ec2.md#renewal
 */
export async function checkEc2Renewal(
  call: Call,
  mount: Mount,
  login: LoginRecord,
  ask: AskAws,
): Promise<RenewalInput> {
  const { instanceId, region, account, tagMaxTtl = 0 } = login
  if (!instanceId || !region) throw renewalDeniedError('login-unknown')
  const [roleItem, entry, client, sts, tidy] = await call.ports.store.read([
    key('role', mount.accessor, login.role),
    key('access', mount.accessor, instanceId),
    key('client-config', mount.accessor),
    key('sts-role', mount.accessor, account),
    key('tidy-settings', mount.accessor, 'identity-accesslist'),
  ])
  const role = requireSameRole(roleItem, login)
  await requireOrganization(call, mount, role, login)
  if (!entry) throw renewalDeniedError('entry-gone')
  if (login.entryCreatedAt !== undefined && login.entryCreatedAt !== entry.data.createdAt)
    throw renewalDeniedError('entry-recreated')
  await requireRunningInstance(call, { account, region, client, sts }, instanceId, ask)
  const limits = [role.token.maxTtl, tagMaxTtl].filter(limit => limit > 0)
  const expiresAt = call.now + Math.max(maxTtlOfMount(mount), ...limits) * 1000
  const renewed = { ...entry.data, updatedAt: call.now, expiresAt }
  return {
    ttl: role.token.ttl,
    methodMax: Math.min(maxTtlOfMount(mount), ...limits),
    period: role.token.period,
    changes: [replaceItem(entry, entry, renewed, tidyTimes(expiresAt, tidy?.data ?? defaultTidySettings))],
  }
}
