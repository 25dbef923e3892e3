import { createHmac } from 'node:crypto'
import { randomIamId } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { sealText, unsealText } from '../state/seal.ts'
import type { IamRole } from '../state/state.ts'

const USE = 'session'

/** Credentials that end. */
export interface TemporaryCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string
  /** RFC 3339, whole seconds. */
  expiration: string
}

/** Temporary credentials of an assumed role. */
export interface AssumedRoleSession extends TemporaryCredentials {
  /** `arn:…:sts::…:assumed-role/Role/session` */
  arn: string
}

/** The content of a session token. */
export interface AssumedRoleSessionFacts {
  secretAccessKey: string
  role: IamRole
  sessionName: string
  /** Milliseconds since 1970. */
  expiresAt: number
  /** Claims of the session's tokens, for example of the instance that has the credentials. */
  facts: Record<string, unknown>
}

/**
 * Issues temporary credentials. The session token is the sealed session, as in AWS, so the provider stores nothing.
 * @param use purpose of the credentials, which the seal covers
 * @param contentOf Returns the content of the session token; `expiresAt` is in milliseconds since 1970.
 */
export function issueCredentials(
  aws: ImitatedAws,
  use: string,
  ttlSeconds: number,
  contentOf: (accessKeyId: string, expiresAt: number) => unknown[],
): TemporaryCredentials {
  const accessKeyId = randomIamId('ASIA')
  const expiresAt = (Math.floor(aws.now() / 1000) + ttlSeconds) * 1000
  return {
    accessKeyId,
    secretAccessKey: secretOfSession(aws, accessKeyId),
    sessionToken: sealText(aws, use, JSON.stringify(contentOf(accessKeyId, expiresAt))),
    expiration: new Date(expiresAt).toISOString().replace('.000', ''),
  }
}

/** Issues temporary credentials of a role. */
export function openRoleSession(
  aws: ImitatedAws,
  role: IamRole,
  sessionName: string,
  ttlSeconds: number,
  facts: Record<string, unknown> = {},
): AssumedRoleSession {
  const issued = issueCredentials(aws, USE, ttlSeconds, (accessKeyId, expiresAt) => [
    accessKeyId,
    role.account,
    role.name,
    role.roleId,
    sessionName,
    expiresAt,
    facts,
  ])
  return { ...issued, arn: sessionArnOf(role, sessionName) }
}

/**
 * Reads a session token.
 * @returns undefined for a token that this provider did not issue, that belongs to another access key, or whose role
 * was deleted; an expired session is returned
 */
export function readRoleSession(
  aws: ImitatedAws,
  accessKeyId: string,
  token: string,
): AssumedRoleSessionFacts | undefined {
  const text = unsealText(aws, USE, token)
  if (text === undefined) return undefined
  const [id, account, roleName, roleId, sessionName, expiresAt, facts = {}] = JSON.parse(text)
  const role = aws.state.roles.get(`${account}/${roleName}`)
  if (id !== accessKeyId || role?.roleId !== roleId || role === undefined) return undefined
  return {
    secretAccessKey: secretOfSession(aws, accessKeyId),
    role,
    sessionName,
    expiresAt,
    facts,
  }
}

/** Returns the ARN of a session, which does not contain the role's path. */
export const sessionArnOf = (role: IamRole, sessionName: string): string =>
  `arn:${role.partition}:sts::${role.account}:assumed-role/${role.name}/${sessionName}`

/** Returns the secret key of temporary credentials. */
export const secretOfSession = (aws: ImitatedAws, accessKeyId: string): string =>
  createHmac('sha256', aws.state.sealKey).update(accessKeyId).digest('base64').slice(0, 40)
