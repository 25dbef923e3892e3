import { iamId, secretKey } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { AccessKey, User } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import { findNamed, noSuch, putNamed } from './named.ts'

/** Most access keys one user has ("IAM object quotas", IAM User Guide). */
const maxKeys = 2

/** Creates a user, or moves an existing one to another path; its unique id and keys stay. */
export const putUser = (
  aws: ImitatedAws,
  given: Pick<User, 'account' | 'name' | 'path' | 'partition'>,
): User =>
  putNamed(aws, aws.state.users, 'user', given, { userId: iamId('AIDA'), accessKeyIds: [] as string[] })

/** Returns the root user of an account, and creates it at the first call. */
export function rootUser(aws: ImitatedAws, account: string, partition: string): User {
  const known = aws.state.users.get(`${account}/`)
  if (known !== undefined) return known
  const arn = `arn:${partition}:iam::${account}:root`
  const named = { account, partition, path: '/', name: '', userId: account, arn }
  const root: User = { ...named, createdAt: aws.now(), accessKeyIds: [] }
  aws.state.users.set(`${account}/`, root)
  aws.changed()
  return root
}

/** Name of the IAM user that represents the user of this machine's hosts. */
const OPERATOR = 'operator'

/** Returns the operator's access key, the same for all hosts of an imitated AWS. Creates it at the first call. */
export function operatorKey(aws: ImitatedAws): AccessKey {
  const { account } = aws.home
  const known = aws.state.users.get(`${account}/${OPERATOR}`)
  const user = known ?? putUser(aws, { account, name: OPERATOR, path: '/', partition: 'aws' })
  const [first] = user.accessKeyIds
  return first === undefined ? addAccessKey(aws, user) : findAccessKey(aws, user, first)
}

/**
 * Returns the user of that name.
 * @throws NoSuchEntity 404
 */
export const findUser = (aws: ImitatedAws, account: string, name: string): User =>
  findNamed(aws.state.users, 'The user with name', account, name)

/** Deletes a user with its keys. A user created later under that name is a different user. */
export function deleteUser(aws: ImitatedAws, account: string, name: string): void {
  const user = findUser(aws, account, name)
  for (const id of user.accessKeyIds) aws.state.accessKeys.delete(id)
  aws.state.users.delete(`${account}/${name}`)
  aws.changed()
}

/**
 * Creates another access key for a user.
 * @throws LimitExceeded 409 if it has two
 */
export function addAccessKey(aws: ImitatedAws, user: User): AccessKey {
  if (user.accessKeyIds.length >= maxKeys) {
    throw awsError(409, 'LimitExceeded', `Cannot exceed quota for AccessKeysPerUser: ${maxKeys}`)
  }
  const key: AccessKey = {
    accessKeyId: iamId('AKIA'),
    secretAccessKey: secretKey(),
    account: user.account,
    user: user.name,
    status: 'Active',
    createdAt: aws.now(),
  }
  aws.state.accessKeys.set(key.accessKeyId, key)
  user.accessKeyIds.push(key.accessKeyId)
  aws.changed()
  return key
}

/**
 * Returns one of the user's keys.
 * @throws NoSuchEntity 404, also for a key of another user
 */
export function findAccessKey(aws: ImitatedAws, user: User, accessKeyId: string): AccessKey {
  const key = aws.state.accessKeys.get(accessKeyId)
  if (key === undefined || !user.accessKeyIds.includes(accessKeyId)) {
    throw noSuch(`The Access Key with id ${accessKeyId} cannot be found.`)
  }
  return key
}

/** Deletes one of the user's keys. */
export function removeAccessKey(aws: ImitatedAws, user: User, accessKeyId: string): void {
  findAccessKey(aws, user, accessKeyId)
  user.accessKeyIds = user.accessKeyIds.filter(id => id !== accessKeyId)
  aws.state.accessKeys.delete(accessKeyId)
  aws.changed()
}
