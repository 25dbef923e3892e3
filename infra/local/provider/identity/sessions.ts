import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { iamId } from '../state/ids.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import type { IamRole } from '../state/state.ts'

/** Temporary credentials of an assumed role. */
export interface Session {
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string
  /** RFC 3339, whole seconds. */
  expiration: string
  /** `arn:…:sts::…:assumed-role/Role/session` */
  arn: string
}

/** What a session token says. */
export interface SessionFacts {
  accessKeyId: string
  secretAccessKey: string
  role: IamRole
  sessionName: string
  /** Milliseconds since 1970. */
  expiresAt: number
}

/**
 * Issues temporary credentials. Nothing is stored: the token is the sealed session, as with AWS,
 * so that any number of them costs nothing.
 */
export function openSession(
  aws: ImitatedAws,
  role: IamRole,
  sessionName: string,
  ttlSeconds: number,
): Session {
  const accessKeyId = iamId('ASIA')
  const expiresAt = (Math.floor(aws.now() / 1000) + ttlSeconds) * 1000
  const content = [accessKeyId, role.account, role.name, role.roleId, sessionName, expiresAt]
  return {
    accessKeyId,
    secretAccessKey: secretOf(aws, accessKeyId),
    sessionToken: seal(aws, JSON.stringify(content)),
    expiration: new Date(expiresAt).toISOString().replace('.000', ''),
    arn: sessionArn(role, sessionName),
  }
}

/**
 * What a session token stands for.
 *
 * @returns undefined for a token this provider did not issue, one of another access key, or one whose
 *   role is gone; a session past its end is returned all the same
 */
export function readSession(aws: ImitatedAws, accessKeyId: string, token: string): SessionFacts | undefined {
  const text = unseal(aws, token)
  if (text === undefined) return undefined
  const [id, account, roleName, roleId, sessionName, expiresAt] = JSON.parse(text)
  const role = aws.state.roles.get(`${account}/${roleName}`)
  if (id !== accessKeyId || role?.roleId !== roleId || role === undefined) return undefined
  return { accessKeyId, secretAccessKey: secretOf(aws, accessKeyId), role, sessionName, expiresAt }
}

/** The ARN of a session; the path of the role does not appear in it. */
export const sessionArn = (role: IamRole, sessionName: string): string =>
  `arn:${role.partition}:sts::${role.account}:assumed-role/${role.name}/${sessionName}`

/** What this AWS seals and proves with. */
export const sealKeyOf = (aws: ImitatedAws): KeyObject => createSecretKey(aws.state.sealKey, 'base64')

const secretOf = (aws: ImitatedAws, accessKeyId: string): string =>
  createHmac('sha256', sealKeyOf(aws)).update(accessKeyId).digest('base64').slice(0, 40)

function seal(aws: ImitatedAws, text: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealKeyOf(aws), iv)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

function unseal(aws: ImitatedAws, token: string): string | undefined {
  const bytes = Buffer.from(token, 'base64')
  // The comparison refuses other spellings of the same bytes: a token is one text.
  if (bytes.length < 28 || bytes.toString('base64') !== token) return undefined
  const decipher = createDecipheriv('aes-256-gcm', sealKeyOf(aws), bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  try {
    return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
