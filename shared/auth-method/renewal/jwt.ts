import type { Call } from '../../api/call.ts'
import type { Mount } from '../../model/mount.ts'
import type { LoginRecord } from '../../model/token.ts'
import { key } from '../../storage/kinds.ts'
import { claimRules } from '../roles/claim-bindings.ts'
import { type RenewalInput, renewalDeniedError, requireSameRole } from './conditions.ts'

/**
 * Checks the renewal of a login by token, without a call to AWS. The role must admit the claims that the login stored, and
 * the mount must trust the issuer. @see docs/spec/login-jwt.md#renewal
 */
export async function checkJwtRenewal(call: Call, mount: Mount, login: LoginRecord): Promise<RenewalInput> {
  const { claims, account } = login
  if (!claims) throw renewalDeniedError('login-unknown')
  const [roleItem, config, issuer] = await call.ports.store.read([
    key('role', mount.accessor, login.role),
    key('jwt-config', mount.accessor),
    key('issuer', mount.accessor, claims.issuer),
  ])
  const role = requireSameRole(roleItem, login)
  if (!config) throw renewalDeniedError('jwt-not-configured')
  if (!issuer) throw renewalDeniedError('issuer-gone')
  const { blocked, superseded, learnt } = issuer.data
  if (blocked) throw renewalDeniedError('issuer-blocked')
  if (superseded) throw renewalDeniedError('issuer-superseded')
  const { blockedAccounts, organizations } = config.data
  if (blockedAccounts.includes(account)) throw renewalDeniedError('account-blocked')
  if (learnt && !organizations.includes(claims.orgId ?? '')) throw renewalDeniedError('organization')
  const facts = { principalTags: {}, requestTags: {}, ...claims, account }
  const broken = claimRules.find(rule => rule.isSet(role) && !rule.isMet(role, facts))
  if (broken) throw renewalDeniedError(`not-${broken.name}`)
  const { ttl, maxTtl, period } = role.token
  return { ttl, methodMax: maxTtl, period, changes: [] }
}
