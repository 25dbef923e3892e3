import { findProfile, findRole } from '../identity/roles.ts'
import { addAccessKey, findAccessKey, findUser, removeAccessKey } from '../identity/users.ts'
import type { AccessKey, IamRole, User } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import type { Tree } from '../wire/xml.ts'
import { optional, type Params, required } from './query-protocol.ts'
import type { ActionCall } from './service.ts'

/** GetUser (IAM API reference): the named user, or the caller. The root user has no name. */
export const getUser = (call: ActionCall<Params>): Tree => ({ User: userTree(ownerOf(call)) })

/** GetRole (IAM API reference). */
export const getRole = ({ aws, caller, input }: ActionCall<Params>): Tree => ({
  Role: roleTree(findRole(aws, caller.account, required(input, 'RoleName'))),
})

/** GetInstanceProfile (IAM API reference). */
export function getInstanceProfile({ aws, caller, input }: ActionCall<Params>): Tree {
  const profile = findProfile(aws, caller.account, required(input, 'InstanceProfileName'))
  const roles = profile.roles.flatMap(name => aws.state.roles.get(`${caller.account}/${name}`) ?? [])
  return {
    InstanceProfile: {
      Path: profile.path,
      InstanceProfileName: profile.name,
      InstanceProfileId: profile.profileId,
      Arn: profile.arn,
      CreateDate: dateText(profile.createdAt),
      Roles: roles.map(roleTree),
    },
  }
}

/** ListAccessKeys (IAM API reference). */
export function listAccessKeys(call: ActionCall<Params>): Tree {
  const owner = ownerOf(call)
  const keys = owner.accessKeyIds.map(id => keyTree(findAccessKey(call.aws, owner, id)))
  return { AccessKeyMetadata: keys, IsTruncated: false }
}

/** CreateAccessKey (IAM API reference). */
export function createAccessKey(call: ActionCall<Params>): Tree {
  const key = addAccessKey(call.aws, ownerOf(call))
  return { AccessKey: { ...keyTree(key), SecretAccessKey: key.secretAccessKey } }
}

/** DeleteAccessKey (IAM API reference). */
export function deleteAccessKey(call: ActionCall<Params>): Tree {
  removeAccessKey(call.aws, ownerOf(call), required(call.input, 'AccessKeyId'))
  return undefined
}

/** UpdateAccessKey (IAM API reference): activates or deactivates. */
export function updateAccessKey(call: ActionCall<Params>): Tree {
  const key = findAccessKey(call.aws, ownerOf(call), required(call.input, 'AccessKeyId'))
  const status = required(call.input, 'Status')
  if (status !== 'Active' && status !== 'Inactive') {
    throw awsError(400, 'ValidationError', `Value '${status}' at 'status' failed to satisfy constraint`)
  }
  key.status = status
  call.aws.changed()
  return undefined
}

/** Returns the user named by `UserName`, or the caller. */
function ownerOf({ aws, caller, input }: ActionCall<Params>): User {
  const name = optional(input, 'UserName')
  if (name !== undefined) return findUser(aws, caller.account, name)
  if (caller.user !== undefined) return caller.user
  throw awsError(400, 'ValidationError', 'Must specify userName when calling with non-User credentials')
}

const userTree = (user: User) => ({
  Path: user.name === '' ? undefined : user.path,
  UserName: user.name === '' ? undefined : user.name,
  UserId: user.userId,
  Arn: user.arn,
  CreateDate: dateText(user.createdAt),
})

const roleTree = (role: IamRole) => ({
  Path: role.path,
  RoleName: role.name,
  RoleId: role.roleId,
  Arn: role.arn,
  CreateDate: dateText(role.createdAt),
})

const keyTree = (key: AccessKey) => ({
  UserName: key.user === '' ? undefined : key.user,
  AccessKeyId: key.accessKeyId,
  Status: key.status,
  CreateDate: dateText(key.createdAt),
})

const dateText = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d{3}/, '')
