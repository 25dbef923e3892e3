import type { Claim } from '../signing/claim.ts'
import type { KeyFacts } from '../signing/sigv4.ts'
import type { AccessKey, User } from '../state/state.ts'
import type { World } from '../state/world.ts'
import { readSession, type SessionFacts, sessionArn } from './sessions.ts'

/** Whose credentials signed a request. */
export interface Caller {
  kind: 'user' | 'root' | 'session'
  account: string
  partition: string
  /** As GetCallerIdentity tells it. */
  arn: string
  /** `AIDA…`, `AROA…:session`, or the account number of the root user. */
  userId: string
  /** The ARN permissions are attached to: for a session that of its role. */
  permissionArn: string
  /** Absent for sessions. */
  user?: User | undefined
}

/** A caller and the key that proves it. */
export interface KnownKey extends KeyFacts {
  caller: Caller
}

/**
 * The owner of the access key a request names, verified or not.
 *
 * @returns undefined for a key that does not exist, is inactive, is younger than the arranged delay,
 *   or whose session token is missing or not its own
 */
export function lookUpKey(world: World, claim: Claim): KnownKey | undefined {
  const { accessKeyId, sessionToken } = claim
  if (sessionToken !== undefined) {
    const session = readSession(world, accessKeyId, sessionToken)
    return session && { ...session, sessionToken, caller: callerOfSession(session) }
  }
  const key = world.state.accessKeys.get(accessKeyId)
  const user = key && world.state.users.get(`${key.account}/${key.user}`)
  if (key === undefined || user === undefined || !isUsable(world, key)) return undefined
  return { secretAccessKey: key.secretAccessKey, caller: callerOfUser(user) }
}

function isUsable(world: World, key: AccessKey): boolean {
  const { keyDelayMs } = world.drills
  if (key.status !== 'Active') return false
  // Without a delay a key works even when the clock was turned back behind its making.
  return keyDelayMs === 0 || world.now() - key.createdAt >= keyDelayMs
}

const callerOfUser = (user: User): Caller => ({
  kind: user.name === '' ? 'root' : 'user',
  account: user.account,
  partition: user.partition,
  arn: user.arn,
  userId: user.userId,
  permissionArn: user.arn,
  user,
})

const callerOfSession = ({ role, sessionName }: SessionFacts): Caller => ({
  kind: 'session',
  account: role.account,
  partition: role.partition,
  arn: sessionArn(role, sessionName),
  userId: `${role.roleId}:${sessionName}`,
  permissionArn: role.arn,
})
