import { iamId } from '../state/ids.ts'
import type { InstanceProfile, Role } from '../state/state.ts'
import type { World } from '../state/world.ts'
import { noSuch } from './users.ts'

/** Creates a role, or replaces all but the unique id of an existing one. */
export function putRole(
  world: World,
  input: Pick<Role, 'account' | 'name' | 'path' | 'partition' | 'trusts' | 'externalId'>,
): Role {
  const key = `${input.account}/${input.name}`
  const arn = `arn:${input.partition}:iam::${input.account}:role${input.path}${input.name}`
  const { roleId, createdAt } = world.state.roles.get(key) ?? {
    roleId: iamId('AROA'),
    createdAt: world.now(),
  }
  const role: Role = { ...input, roleId, createdAt, arn }
  world.state.roles.set(key, role)
  world.changed()
  return role
}

/**
 * The role of that name.
 *
 * @throws NoSuchEntity 404
 */
export function findRole(world: World, account: string, name: string): Role {
  const role = world.state.roles.get(`${account}/${name}`)
  if (role === undefined) throw noSuch(`The role with name ${name} cannot be found.`)
  return role
}

/** Removes a role and with it the validity of its sessions. */
export function deleteRole(world: World, account: string, name: string): void {
  findRole(world, account, name)
  world.state.roles.delete(`${account}/${name}`)
  world.changed()
}

/** Creates an instance profile, or replaces all but the unique id of an existing one. */
export function putProfile(
  world: World,
  input: Pick<InstanceProfile, 'account' | 'name' | 'path' | 'partition' | 'roles'>,
): InstanceProfile {
  const key = `${input.account}/${input.name}`
  const arn = `arn:${input.partition}:iam::${input.account}:instance-profile${input.path}${input.name}`
  const known = world.state.profiles.get(key)
  const { profileId, createdAt } = known ?? { profileId: iamId('AIPA'), createdAt: world.now() }
  const profile: InstanceProfile = { ...input, profileId, createdAt, arn }
  world.state.profiles.set(key, profile)
  world.changed()
  return profile
}

/**
 * The instance profile of that name.
 *
 * @throws NoSuchEntity 404
 */
export function findProfile(world: World, account: string, name: string): InstanceProfile {
  const profile = world.state.profiles.get(`${account}/${name}`)
  if (profile === undefined) throw noSuch(`Instance Profile ${name} cannot be found.`)
  return profile
}

/** Removes an instance profile. */
export function deleteProfile(world: World, account: string, name: string): void {
  findProfile(world, account, name)
  world.state.profiles.delete(`${account}/${name}`)
  world.changed()
}
