import type { PresentedSignature } from '../signing/presented-signature.ts'
import type { SigningKeyFacts } from '../signing/sigv4.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamAccessKey, IamUser } from '../state/state.ts'
import { type InstanceSessionFacts, readInstanceSession } from './instance-sessions.ts'
import { type AssumedRoleSessionFacts, readRoleSession, sessionArnOf } from './sessions.ts'

/** The owner of the credentials that signed a request. */
export interface AwsCaller {
  /** `instance`: the role that EC2 gives to each instance */
  kind: 'user' | 'root' | 'session' | 'instance'
  account: string
  partition: string
  /** The ARN as GetCallerIdentity returns it. */
  arn: string
  /** `AIDA…`, `AROA…:session`, `<account>:aws:ec2-instance:i-…`, or the account number of the root user. */
  userId: string
  /** The ARN that permissions are attached to; for a session, the ARN of the session's role. */
  permissionArn: string
  /** The user that owns the key; absent for sessions of a role. */
  user?: IamUser | undefined
  /** The session of a role. */
  session?: Pick<AssumedRoleSessionFacts, 'expiresAt' | 'facts'>
}

/** A caller of AWS with the access key that identifies it. */
export interface CallerAccessKey extends SigningKeyFacts {
  caller: AwsCaller
}

/**
 * Returns the owner of the access key that a request names, verified or not.
 * @returns undefined for a key that does not exist, is inactive, is younger than the arranged delay, or whose session
 * token is missing or wrong
 */
export function lookUpCallerKey(
  aws: ImitatedAws,
  presented: PresentedSignature,
): CallerAccessKey | undefined {
  const { accessKeyId, sessionToken } = presented
  if (sessionToken !== undefined) {
    const session = readRoleSession(aws, accessKeyId, sessionToken)
    if (session) return { ...session, sessionToken, caller: callerOfSession(session) }
    const instance = readInstanceSession(aws, accessKeyId, sessionToken)
    return instance && { ...instance, sessionToken, caller: callerOfInstance(instance) }
  }
  const key = aws.state.accessKeys.get(accessKeyId)
  const user = key && aws.state.users.get(`${key.account}/${key.user}`)
  if (key === undefined || user === undefined || !isUsable(aws, key)) return undefined
  return { secretAccessKey: key.secretAccessKey, caller: callerOfUser(user) }
}

// Without a delay, an access key works even when the clock was set back to before the key's creation.
const isUsable = (
  { arranged: { keyDelayMs }, now }: ImitatedAws,
  { status, createdAt }: IamAccessKey,
): boolean => status === 'Active' && (keyDelayMs === 0 || now() - createdAt >= keyDelayMs)

const callerOfUser = (user: IamUser): AwsCaller => ({
  kind: user.name === '' ? 'root' : 'user',
  account: user.account,
  partition: user.partition,
  arn: user.arn,
  userId: user.userId,
  permissionArn: user.arn,
  user,
})

const callerOfSession = ({ role, sessionName, expiresAt, facts }: AssumedRoleSessionFacts): AwsCaller => ({
  kind: 'session',
  account: role.account,
  partition: role.partition,
  arn: sessionArnOf(role, sessionName),
  userId: `${role.roleId}:${sessionName}`,
  permissionArn: role.arn,
  session: { expiresAt, facts },
})

function callerOfInstance({ account, partition, instanceId }: InstanceSessionFacts): AwsCaller {
  const arn = `arn:${partition}:sts::${account}:assumed-role/aws:ec2-instance/${instanceId}`
  const userId = `${account}:aws:ec2-instance:${instanceId}`
  return { kind: 'instance', account, partition, arn, userId, permissionArn: arn }
}
