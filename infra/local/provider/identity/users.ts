import { randomIamId, randomSecretKey } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamAccessKey, IamUser } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import { findNamedEntity, noSuchEntityError, putNamedEntity } from './named.ts'

/** Maximum number of access keys of one user ("IAM object quotas", IAM User Guide). */
const maxKeys = 2

/**
 * Creates a user, or moves an existing user to another path. The unique id and keys of an existing user stay.
 */
export const putIamUser = (
  aws: ImitatedAws,
  given: Pick<IamUser, 'account' | 'name' | 'path' | 'partition'>,
): IamUser =>
  putNamedEntity(aws, aws.state.users, 'user', given, {
    userId: randomIamId('AIDA'),
    accessKeyIds: [] as string[],
  })

/** Returns the root user of an account, which is created at the first call. */
export function rootUserOfAccount(aws: ImitatedAws, account: string, partition: string): IamUser {
  const known = aws.state.users.get(`${account}/`)
  if (known !== undefined) return known
  const arn = `arn:${partition}:iam::${account}:root`
  const named = { account, partition, path: '/', name: '', userId: account, arn }
  const root: IamUser = { ...named, createdAt: aws.now(), accessKeyIds: [] }
  aws.state.users.set(`${account}/`, root)
  aws.changed()
  return root
}

/** Name of the IAM user that represents the user of this machine's hosts. */
const OPERATOR = 'operator'

/**
 * Returns the operator's access key, which is the same for all hosts of an imitated AWS. The key is created
 * at the first call.
 */
export function createOperatorKey(aws: ImitatedAws): IamAccessKey {
  const { account } = aws.home
  const known = aws.state.users.get(`${account}/${OPERATOR}`)
  const user = known ?? putIamUser(aws, { account, name: OPERATOR, path: '/', partition: 'aws' })
  const [first] = user.accessKeyIds
  return first === undefined ? addUserAccessKey(aws, user) : findUserAccessKey(aws, user, first)
}

/**
 * Returns the IAM user with a name.
 * @throws NoSuchEntity 404
 */
export const findIamUser = (aws: ImitatedAws, account: string, name: string): IamUser =>
  findNamedEntity(aws.state.users, 'The user with name', account, name)

/** Deletes a user with its access keys. A user created later under the same name is a different user. */
export function deleteIamUser(aws: ImitatedAws, account: string, name: string): void {
  const user = findIamUser(aws, account, name)
  for (const id of user.accessKeyIds) aws.state.accessKeys.delete(id)
  aws.state.users.delete(`${account}/${name}`)
  aws.changed()
}

/**
 * Creates another access key for a user.
 * @throws LimitExceeded 409 if the user has two access keys
 */
export function addUserAccessKey(aws: ImitatedAws, user: IamUser): IamAccessKey {
  if (user.accessKeyIds.length >= maxKeys) {
    throw awsError(409, 'LimitExceeded', `Cannot exceed quota for AccessKeysPerUser: ${maxKeys}`)
  }
  const key: IamAccessKey = {
    accessKeyId: randomIamId('AKIA'),
    secretAccessKey: randomSecretKey(),
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
 * Returns an access key of a user.
 * @throws NoSuchEntity 404, also for a key of another user
 */
export function findUserAccessKey(aws: ImitatedAws, user: IamUser, accessKeyId: string): IamAccessKey {
  const key = aws.state.accessKeys.get(accessKeyId)
  if (key === undefined || !user.accessKeyIds.includes(accessKeyId)) {
    throw noSuchEntityError(`The Access Key with id ${accessKeyId} cannot be found.`)
  }
  return key
}

/** Deletes an access key of a user. */
export function removeUserAccessKey(aws: ImitatedAws, user: IamUser, accessKeyId: string): void {
  findUserAccessKey(aws, user, accessKeyId)
  user.accessKeyIds = user.accessKeyIds.filter(id => id !== accessKeyId)
  aws.state.accessKeys.delete(accessKeyId)
  aws.changed()
}
