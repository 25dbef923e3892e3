import type { AskProvider, Call } from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import type { Role } from '../../model/role.ts'
import type { LoginRecord } from '../../model/token.ts'
import type { Change } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import { type AccountAccess, accountQuestion } from '../config/accounts.ts'
import { stateFault } from '../login/instance.ts'

/** The limits of a renewal by the role's current settings. Seconds. */
export interface Renewal {
  ttl: number
  methodMax: number
  period: number
  changes: readonly Change[]
}

/** Builds the error of a denied renewal. The token stays valid until it expires. */
export const renewalDeniedError = (why: string): ApiError =>
  new ApiError('permission_denied', '', { reason: { why: `renewal-${why}` } })

/** Returns the role of a login. @throws ApiError if the role was deleted or recreated */
export function requireSameRole(item: Item<'role'> | undefined, login: LoginRecord): Role {
  if (!item) throw renewalDeniedError('role-gone')
  if (item.data.roleId !== login.roleId) throw renewalDeniedError('role-recreated')
  return item.data
}

/** Asks EC2 for the instance of a login. @throws ApiError unless it is running */
export async function requireRunningInstance(
  call: Call,
  access: AccountAccess,
  instanceId: string,
  ask: AskProvider,
): Promise<void> {
  const { instances, cipher } = call.ports
  const question = accountQuestion(access, ['instance', instanceId], cipher, target =>
    instances.describe(target, instanceId, call.request.deadline),
  )
  if (stateFault(await ask(question), instanceId)) throw renewalDeniedError('instance-not-running')
}
