import { randomIamId } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamInstanceProfile, IamRole } from '../state/state.ts'
import { findNamedEntity, putNamedEntity } from './named.ts'

/** Creates a role, or replaces an existing one except its unique id. */
export const putIamRole = (aws: ImitatedAws, given: Omit<IamRole, 'roleId' | 'arn' | 'createdAt'>): IamRole =>
  putNamedEntity(aws, aws.state.roles, 'role', given, { roleId: randomIamId('AROA') })

/**
 * Returns the IAM role with a name.
 * @throws NoSuchEntity 404
 */
export const findIamRole = (aws: ImitatedAws, account: string, name: string): IamRole =>
  findNamedEntity(aws.state.roles, 'The role with name', account, name)

/** Deletes an IAM role, which invalidates the role's sessions. */
export function deleteIamRole(aws: ImitatedAws, account: string, name: string): void {
  findIamRole(aws, account, name)
  aws.state.roles.delete(`${account}/${name}`)
  aws.changed()
}

/** Creates an instance profile, or replaces an existing one except its unique id. */
export const putInstanceProfile = (
  aws: ImitatedAws,
  given: Pick<IamInstanceProfile, 'account' | 'name' | 'path' | 'partition' | 'roles'>,
): IamInstanceProfile =>
  putNamedEntity(aws, aws.state.profiles, 'instance-profile', given, { profileId: randomIamId('AIPA') })

/**
 * Returns the instance profile with a name.
 * @throws NoSuchEntity 404
 */
export const findInstanceProfile = (aws: ImitatedAws, account: string, name: string): IamInstanceProfile =>
  findNamedEntity(aws.state.profiles, 'Instance Profile', account, name)
