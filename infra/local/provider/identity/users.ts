import { iamId, secretKey } from '../state/ids.ts'
import type { AccessKey, User } from '../state/state.ts'
import type { World } from '../state/world.ts'
import { awsError } from '../wire/trouble.ts'

/** Most access keys one user has ("IAM object quotas", IAM User Guide). */
const maxKeys = 2

/** Creates a user, or moves an existing one to another path; the unique id and keys stay. */
export function putUser(
  world: World,
  input: { account: string; name: string; path: string; partition: string },
): User {
  const { account, name, path, partition } = input
  const key = `${account}/${name}`
  const known = world.state.users.get(key)
  const arn = `arn:${partition}:iam::${account}:user${path}${name}`
  const fresh = { userId: iamId('AIDA'), createdAt: world.now(), accessKeyIds: [] }
  const user: User = { ...(known ?? fresh), account, partition, path, name, arn }
  world.state.users.set(key, user)
  world.changed()
  return user
}

/** The root user of an account, created when first asked for. */
export function rootUser(world: World, account: string, partition: string): User {
  const known = world.state.users.get(`${account}/`)
  if (known !== undefined) return known
  const arn = `arn:${partition}:iam::${account}:root`
  const named = { account, partition, path: '/', name: '', userId: account, arn }
  const root: User = { ...named, createdAt: world.now(), accessKeyIds: [] }
  world.state.users.set(`${account}/`, root)
  world.changed()
  return root
}

/**
 * The user of that name.
 *
 * @throws NoSuchEntity 404
 */
export function findUser(world: World, account: string, name: string): User {
  const user = world.state.users.get(`${account}/${name}`)
  if (user === undefined) throw noSuch(`The user with name ${name} cannot be found.`)
  return user
}

/** Removes a user with all its keys; a user of that name created later is another one. */
export function deleteUser(world: World, account: string, name: string): void {
  const user = findUser(world, account, name)
  for (const id of user.accessKeyIds) world.state.accessKeys.delete(id)
  world.state.users.delete(`${account}/${name}`)
  world.changed()
}

/**
 * Gives a user another access key.
 *
 * @throws LimitExceeded 409 when it has two
 */
export function addAccessKey(world: World, user: User): AccessKey {
  if (user.accessKeyIds.length >= maxKeys) {
    throw awsError(409, 'LimitExceeded', `Cannot exceed quota for AccessKeysPerUser: ${maxKeys}`)
  }
  const key: AccessKey = {
    accessKeyId: iamId('AKIA'),
    secretAccessKey: secretKey(),
    account: user.account,
    user: user.name,
    status: 'Active',
    createdAt: world.now(),
  }
  world.state.accessKeys.set(key.accessKeyId, key)
  user.accessKeyIds.push(key.accessKeyId)
  world.changed()
  return key
}

/**
 * One of the user's keys.
 *
 * @throws NoSuchEntity 404, also for a key of somebody else
 */
export function findAccessKey(world: World, user: User, accessKeyId: string): AccessKey {
  const key = world.state.accessKeys.get(accessKeyId)
  if (key === undefined || !user.accessKeyIds.includes(accessKeyId)) {
    throw noSuch(`The Access Key with id ${accessKeyId} cannot be found.`)
  }
  return key
}

/** Removes one of the user's keys. */
export function removeAccessKey(world: World, user: User, accessKeyId: string): void {
  findAccessKey(world, user, accessKeyId)
  user.accessKeyIds = user.accessKeyIds.filter(id => id !== accessKeyId)
  world.state.accessKeys.delete(accessKeyId)
  world.changed()
}

/** The error IAM gives for whatever is not there. */
export const noSuch = (message: string) => awsError(404, 'NoSuchEntity', message)
