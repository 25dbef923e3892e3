import { issuerHostOf, setFederation } from '../identity/federation.ts'
import { findIamRole, findInstanceProfile } from '../identity/roles.ts'
import { addUserAccessKey, findIamUser, findUserAccessKey, removeUserAccessKey } from '../identity/users.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamAccessKey, IamRole, IamUser, WebIdentityIssuer } from '../state/state.ts'
import { awsError } from '../wire/errors.ts'
import type { XmlTree } from '../wire/xml.ts'
import { optionalParam, type QueryParams, requiredParam } from './query-protocol.ts'
import type { ActionCall } from './service.ts'

/** GetUser (IAM API reference): the named user, or the caller. The root user has no name. */
export const getUser = (call: ActionCall<QueryParams>): XmlTree => ({ User: userTree(ownerOf(call)) })

/** GetRole (IAM API reference). */
export const getRole = ({ aws, caller, input }: ActionCall<QueryParams>): XmlTree => ({
  Role: roleTree(findIamRole(aws, caller.account, requiredParam(input, 'RoleName'))),
})

/** GetInstanceProfile (IAM API reference). */
export function getInstanceProfile({ aws, caller, input }: ActionCall<QueryParams>): XmlTree {
  const profile = findInstanceProfile(aws, caller.account, requiredParam(input, 'InstanceProfileName'))
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
export function listAccessKeys(call: ActionCall<QueryParams>): XmlTree {
  const owner = ownerOf(call)
  const keys = owner.accessKeyIds.map(id => keyTree(findUserAccessKey(call.aws, owner, id)))
  return { AccessKeyMetadata: keys, IsTruncated: false }
}

/** CreateAccessKey (IAM API reference). */
export function createAccessKey(call: ActionCall<QueryParams>): XmlTree {
  const key = addUserAccessKey(call.aws, ownerOf(call))
  return { AccessKey: { ...keyTree(key), SecretAccessKey: key.secretAccessKey } }
}

/** DeleteAccessKey (IAM API reference). */
export function deleteAccessKey(call: ActionCall<QueryParams>): XmlTree {
  removeUserAccessKey(call.aws, ownerOf(call), requiredParam(call.input, 'AccessKeyId'))
  return undefined
}

/** UpdateAccessKey (IAM API reference) activates or deactivates an access key. */
export function updateAccessKey(call: ActionCall<QueryParams>): XmlTree {
  const key = findUserAccessKey(call.aws, ownerOf(call), requiredParam(call.input, 'AccessKeyId'))
  const status = requiredParam(call.input, 'Status')
  if (status !== 'Active' && status !== 'Inactive') {
    throw awsError(400, 'ValidationError', `Value '${status}' at 'status' failed to satisfy constraint`)
  }
  key.status = status
  call.aws.changed()
  return undefined
}

/** EnableOutboundWebIdentityFederation (IAM API reference). */
export function enableFederation({ aws, caller }: ActionCall<QueryParams>): XmlTree {
  if (aws.state.issuers.get(caller.account)?.enabled)
    throw awsError(409, 'FeatureEnabled', 'Outbound web identity federation is already enabled.')
  const partition = caller.partition === 'aws-cn' ? 'aws-cn' : 'aws'
  const issuer = setFederation(aws, { account: caller.account, partition, enabled: true, renew: false })
  return { IssuerIdentifier: `https://${issuerHostOf(issuer)}` }
}

/** DisableOutboundWebIdentityFederation (IAM API reference). */
export function disableFederation({ aws, caller }: ActionCall<QueryParams>): XmlTree {
  const { partition } = enabledIssuer(aws, caller.account)
  setFederation(aws, { account: caller.account, partition, enabled: false, renew: false })
  return undefined
}

/** GetOutboundWebIdentityFederationInfo (IAM API reference). */
export const getFederationInfo = ({ aws, caller }: ActionCall<QueryParams>): XmlTree => ({
  IssuerIdentifier: `https://${issuerHostOf(enabledIssuer(aws, caller.account))}`,
  JwtVendingEnabled: true,
})

function enabledIssuer(aws: ImitatedAws, account: string): WebIdentityIssuer {
  const issuer = aws.state.issuers.get(account)
  if (issuer?.enabled) return issuer
  throw awsError(404, 'FeatureDisabled', 'Outbound web identity federation is not enabled.')
}

/** Returns the user that the parameter `UserName` names, or the caller. */
function ownerOf({ aws, caller, input }: ActionCall<QueryParams>): IamUser {
  const name = optionalParam(input, 'UserName')
  if (name !== undefined) return findIamUser(aws, caller.account, name)
  if (caller.user !== undefined) return caller.user
  throw awsError(400, 'ValidationError', 'Must specify userName when calling with non-User credentials')
}

const userTree = (user: IamUser) => ({
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
  AssumeRolePolicyDocument: encodeURIComponent(role.trustPolicy ?? trustPolicyOf(role)),
})

const trustPolicyOf = ({ trusts }: IamRole): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: { AWS: trusts ?? '*' }, Action: 'sts:AssumeRole' }],
  })

const keyTree = (key: IamAccessKey) => ({
  UserName: key.user === '' ? undefined : key.user,
  AccessKeyId: key.accessKeyId,
  Status: key.status,
  CreateDate: dateText(key.createdAt),
})

const dateText = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d{3}/, '')
