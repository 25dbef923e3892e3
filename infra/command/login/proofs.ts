import type { CommandEnvironment } from '../connection.ts'
import { CommandEnded } from '../ended.ts'
import { createIamLoginProof, fetchWebToken } from './caller-request.ts'
import { fetchEc2LoginProof, instanceDocumentKinds } from './instance-document.ts'

/** The checked options of a login. */
export interface LoginOptions {
  base: string
  mount: string
  role?: string
  method: 'iam' | 'ec2' | 'jwt'
  profile?: string
  /** region to sign for; `auto`: the configured region; absent: the region of the global endpoint */
  region?: string
  headerValue?: string
  /** audience of a token that AWS signs; given for the method `jwt` */
  audience?: string
  document: keyof typeof instanceDocumentKinds
  /** nonce of an instance that has logged in before */
  nonce?: string
}

type Given = Readonly<Record<string, string | undefined>>

/** Path segments, none of which consists of dots only. */
const MOUNT = /^(?!\.+(\/|$))[\w.~-]+(\/(?!\.+(\/|$))[\w.~-]+)*$/
const REGION = /^(auto|[a-z]{2}(-[a-z]+)+-\d+)$/

/**
 * Checks the options of a login.
 * @param values values of the options on the command line
 * @throws CommandEnded `usage`
 */
export function checkLoginOptions(
  base: string,
  values: Given,
  environment: CommandEnvironment,
): LoginOptions {
  const { method = 'iam', region, role, profile, document = 'rsa2048', 'header-value': headerValue } = values
  const { audience } = values
  const mount = (values['mount'] ?? 'cloud').replace(/^\/+|\/+$/g, '').replace(/^auth\//, '')
  const nonce = environment['CLOUD_AUTH_NONCE'] || undefined
  if (!MOUNT.test(mount)) throw new CommandEnded('usage', '--mount must be a path such as aws or team/aws')
  if (method !== 'iam' && method !== 'ec2' && method !== 'jwt')
    throw new CommandEnded('usage', '--method must be iam, ec2 or jwt')
  if (method === 'jwt' && !audience)
    throw new CommandEnded('usage', '--method jwt needs --audience, one of the mount’s bound_audiences')
  if (region !== undefined && !REGION.test(region))
    throw new CommandEnded('usage', '--region must be a region such as eu-west-1, or auto')
  if (!Object.hasOwn(instanceDocumentKinds, document))
    throw new CommandEnded(
      'usage',
      `--document must be one of ${Object.keys(instanceDocumentKinds).join(', ')}`,
    )
  const asked = { base, mount, method, document: document as LoginOptions['document'] } as const
  const optional = Object.entries({ role, profile, region, headerValue, audience, nonce })
  return { ...asked, ...Object.fromEntries(optional.filter(([, value]) => value !== undefined)) }
}

/**
 * Creates the login parameters that prove the caller's identity. For an EC2 instance the parameters include
 * its nonce, if the options give one.
 */
export async function createLoginProofFromOptions(
  asked: LoginOptions,
  environment: CommandEnvironment,
): Promise<Record<string, string>> {
  if (asked.method === 'iam') return createIamLoginProof(asked)
  if (asked.method === 'jwt') return fetchWebToken(asked)
  const { nonce, document } = asked
  return { ...(await fetchEc2LoginProof(document, environment)), ...(nonce === undefined ? {} : { nonce }) }
}
