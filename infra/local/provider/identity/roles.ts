import { iamId } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamInstanceProfile, IamRole } from '../state/state.ts'
import { findNamed, putNamed } from './named.ts'

/** Creates a role, or replaces everything except the unique id of an existing one. */
export const putRole = (
  aws: ImitatedAws,
  given: Pick<IamRole, 'account' | 'name' | 'path' | 'partition' | 'trusts' | 'externalId'>,
): IamRole => putNamed(aws, aws.state.roles, 'role', given, { roleId: iamId('AROA') })

/**
 * Returns the role of that name.
 * @throws NoSuchEntity 404
 */
export const findRole = (aws: ImitatedAws, account: string, name: string): IamRole =>
  findNamed(aws.state.roles, 'The role with name', account, name)

/** Deletes a role, which invalidates its sessions. */
export function deleteRole(aws: ImitatedAws, account: string, name: string): void {
  findRole(aws, account, name)
  aws.state.roles.delete(`${account}/${name}`)
  aws.changed()
}

/** Creates an instance profile, or replaces everything except the unique id of an existing one. */
export const putProfile = (
  aws: ImitatedAws,
  given: Pick<IamInstanceProfile, 'account' | 'name' | 'path' | 'partition' | 'roles'>,
): IamInstanceProfile =>
  putNamed(aws, aws.state.profiles, 'instance-profile', given, { profileId: iamId('AIPA') })

/**
 * Returns the instance profile of that name.
 * @throws NoSuchEntity 404
 */
export const findProfile = (aws: ImitatedAws, account: string, name: string): IamInstanceProfile =>
  findNamed(aws.state.profiles, 'Instance Profile', account, name)
