import { iamId } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamInstanceProfile, IamRole } from '../state/state.ts'
import { noSuch } from './users.ts'

/** Creates a role, or replaces all but the unique id of an existing one. */
export function putRole(
  aws: ImitatedAws,
  input: Pick<IamRole, 'account' | 'name' | 'path' | 'partition' | 'trusts' | 'externalId'>,
): IamRole {
  const key = `${input.account}/${input.name}`
  const arn = `arn:${input.partition}:iam::${input.account}:role${input.path}${input.name}`
  const { roleId, createdAt } = aws.state.roles.get(key) ?? {
    roleId: iamId('AROA'),
    createdAt: aws.now(),
  }
  const role: IamRole = { ...input, roleId, createdAt, arn }
  aws.state.roles.set(key, role)
  aws.changed()
  return role
}

/**
 * The role of that name.
 *
 * @throws NoSuchEntity 404
 */
export function findRole(aws: ImitatedAws, account: string, name: string): IamRole {
  const role = aws.state.roles.get(`${account}/${name}`)
  if (role === undefined) throw noSuch(`The role with name ${name} cannot be found.`)
  return role
}

/** Removes a role and with it the validity of its sessions. */
export function deleteRole(aws: ImitatedAws, account: string, name: string): void {
  findRole(aws, account, name)
  aws.state.roles.delete(`${account}/${name}`)
  aws.changed()
}

/** Creates an instance profile, or replaces all but the unique id of an existing one. */
export function putProfile(
  aws: ImitatedAws,
  input: Pick<IamInstanceProfile, 'account' | 'name' | 'path' | 'partition' | 'roles'>,
): IamInstanceProfile {
  const key = `${input.account}/${input.name}`
  const arn = `arn:${input.partition}:iam::${input.account}:instance-profile${input.path}${input.name}`
  const known = aws.state.profiles.get(key)
  const { profileId, createdAt } = known ?? { profileId: iamId('AIPA'), createdAt: aws.now() }
  const profile: IamInstanceProfile = { ...input, profileId, createdAt, arn }
  aws.state.profiles.set(key, profile)
  aws.changed()
  return profile
}

/**
 * The instance profile of that name.
 *
 * @throws NoSuchEntity 404
 */
export function findProfile(aws: ImitatedAws, account: string, name: string): IamInstanceProfile {
  const profile = aws.state.profiles.get(`${account}/${name}`)
  if (profile === undefined) throw noSuch(`Instance Profile ${name} cannot be found.`)
  return profile
}
