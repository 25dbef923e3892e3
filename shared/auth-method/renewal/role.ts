import { ApiError } from '../../api/errors.ts'
import type { Role } from '../../model/role.ts'
import type { LoginRecord } from '../../model/token.ts'
import type { Item } from '../../storage/kinds.ts'

/** A renewal that a rule forbids; the token lives on until its end. */
export const notRenewed = (why: string): ApiError =>
  new ApiError('permission_denied', '', { reason: { why: `renewal-${why}` } })

/** The role of a login, if it still is the same one: a role made again under its name is another. */
export function sameRole(item: Item<'role'> | undefined, login: LoginRecord): Role {
  if (!item) throw notRenewed('role-gone')
  if (item.data.roleId !== login.roleId) throw notRenewed('role-recreated')
  return item.data
}
