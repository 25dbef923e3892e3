import type { AskAws, Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { Mount } from '../../model/mount.ts'
import type { Role } from '../../model/role.ts'
import type { LoginRecord } from '../../model/token.ts'
import type { Change } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import { type AwsAccountAccess, createAccountQuestion } from '../config/accounts.ts'
import { findInstanceStateFault } from '../login/instance.ts'
import { findBrokenOrganizationBound, lookUpOrganization } from '../login/organization-checks.ts'

/** The limits of a renewal by the role's current settings. Seconds. */
export interface RenewalInput {
  ttl: number
  methodMax: number
  period: number
  changes: readonly Change[]
}

/** Builds the error of a denied renewal. After a denied renewal the token stays valid until it expires. */
export const renewalDeniedError = (why: string): ApiError =>
  new ApiError('permission_denied', '', { reason: { why: `renewal-${why}` } })

/** Returns the role of a login. @throws ApiError if the role was deleted or recreated */
export function requireSameRole(item: Item<'role'> | undefined, login: LoginRecord): Role {
  if (!item) throw renewalDeniedError('role-gone')
  if (item.data.roleId !== login.roleId) throw renewalDeniedError('role-recreated')
  return item.data
}

/** Checks that the account of a login is in an organization, or a unit, that the role binds. @throws ApiError; `busy` if the map is too old */
export async function requireOrganization(
  { ports: { store }, now }: Call,
  mount: Mount,
  role: Role,
  { authType, account }: LoginRecord,
): Promise<void> {
  const { organization } = await lookUpOrganization({ mount, now }, store.read, authType, role, account)
  const broken = findBrokenOrganizationBound(role, organization)
  if (broken) throw renewalDeniedError(`not-${broken}`)
}

/** Asks EC2 for the instance of a login. @throws ApiError unless it is running */
export async function requireRunningInstance(
  call: Call,
  access: AwsAccountAccess,
  instanceId: string,
  ask: AskAws,
): Promise<void> {
  const { instances, cipher } = call.ports
  const question = createAccountQuestion(access, ['instance', instanceId], cipher, target =>
    instances.describe(target, instanceId, call.request.deadline),
  )
  if (findInstanceStateFault(await ask(question), instanceId))
    throw renewalDeniedError('instance-not-running')
}
