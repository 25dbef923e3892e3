import type { AskAws, Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { Mount } from '../../model/mount.ts'
import { admittedCallerKind, type Role } from '../../model/role.ts'
import type { LoginRecord } from '../../model/token.ts'
import { key } from '../../storage/kinds.ts'
import { type IamEntity, parseIamEntity } from '../../values/arn.ts'
import { defined } from '../../values/defined.ts'
import { iamRegionOf } from '../../values/region.ts'
import type { AwsAccountItems } from '../config/accounts.ts'
import { findFullPrincipalArn } from '../login-iam/full-arn.ts'
import { roleAdmitsPrincipal } from '../login-iam/principal.ts'
import {
  type RenewalInput,
  renewalDeniedError,
  requireOrganization,
  requireRunningInstance,
  requireSameRole,
} from './conditions.ts'

/**
 * Checks the renewal of an iam login. The principal of the login must still be bound, and an inferred instance must
 * still run. The role must still admit the kind of the caller. The renewal does not check the other bindings again. @see docs/spec/login-iam.md#renewal
 */
export async function checkIamRenewal(
  call: Call,
  mount: Mount,
  login: LoginRecord,
  ask: AskAws,
): Promise<RenewalInput> {
  const entity = parseIamEntity(login.canonicalArn ?? '')
  const kind = login.caller ?? 'principal'
  if (!entity && kind === 'principal') throw renewalDeniedError('login-unknown')
  const [roleItem, client, sts] = await call.ports.store.read([
    key('role', mount.accessor, login.role),
    key('client-config', mount.accessor),
    key('sts-role', mount.accessor, login.account),
  ])
  const role = requireSameRole(roleItem, login)
  await requireOrganization(call, mount, role, login)
  const items = { client, sts }
  if (kind !== admittedCallerKind(role)) throw renewalDeniedError('instance-identity-role')
  // a role that admits instances binds no principal
  if (entity) await checkPrincipal(call, role, login, entity, items, ask)
  await checkInferred(call, role, login, items, ask)
  const { ttl, maxTtl, period } = role.token
  return { ttl, methodMax: maxTtl, period, changes: [] }
}

async function checkPrincipal(
  call: Call,
  role: Role,
  login: LoginRecord,
  entity: IamEntity,
  items: AwsAccountItems,
  ask: AskAws,
): Promise<void> {
  const principal = defined({
    canonicalArn: login.canonicalArn ?? '',
    uniqueId: login.clientUserId,
  })
  const first = roleAdmitsPrincipal(role, principal)
  if (first === 'yes') return
  if (first === 'look-up') {
    const access = { account: login.account, region: iamRegionOf(entity.partition), ...items }
    const fullArn = await findFullPrincipalArn(call, access, entity, login.clientUserId, ask).catch(unbound)
    if (roleAdmitsPrincipal(role, { ...principal, fullArn }) === 'yes') return
  }
  throw renewalDeniedError('principal-not-bound')
}

function unbound(error: unknown): never {
  throw error instanceof ApiError && error.code === 'invalid_request'
    ? renewalDeniedError('principal-not-bound')
    : error
}

async function checkInferred(
  call: Call,
  role: Role,
  { account, instanceId, region }: LoginRecord,
  items: AwsAccountItems,
  ask: AskAws,
): Promise<void> {
  if (role.inferredEntityType === '') return
  // tokens created before the role inferred instances name no instance and cannot be renewed
  if (!instanceId || !region) throw renewalDeniedError('no-instance')
  await requireRunningInstance(call, { account, region, ...items }, instanceId, ask)
}
