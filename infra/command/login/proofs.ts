import type { CommandEnvironment } from '../connection.ts'
import { Ended } from '../ended.ts'
import { callerProof } from './caller-request.ts'
import { documentKinds, documentProof } from './instance-document.ts'

/** What a login is made of, checked. */
export interface LoginAsked {
  base: string
  mount: string
  role?: string
  method: 'iam' | 'ec2'
  profile?: string
  /** to sign for; `auto`: the one that is configured; absent: that of the global endpoint */
  region?: string
  headerValue?: string
  document: keyof typeof documentKinds
  /** of an instance that has logged in before */
  nonce?: string
}

type Given = Readonly<Record<string, string | undefined>>

/** Segments of a path, none of which is dots alone. */
const MOUNT = /^(?!\.+(\/|$))[\w.~-]+(\/(?!\.+(\/|$))[\w.~-]+)*$/
const REGION = /^(auto|[a-z]{2}(-[a-z]+)+-\d+)$/

/**
 * Checks what is wanted of a login.
 * @param values of the options
 * @throws Ended `usage`
 */
export function loginAsked(base: string, values: Given, environment: CommandEnvironment): LoginAsked {
  const { method = 'iam', region, role, profile, document = 'rsa2048', 'header-value': headerValue } = values
  const mount = (values['mount'] ?? 'cloud').replace(/^\/+|\/+$/g, '').replace(/^auth\//, '')
  const nonce = environment['CLOUD_AUTH_NONCE'] || undefined
  if (!MOUNT.test(mount)) throw new Ended('usage', '--mount must be a path like aws or team/aws')
  if (method !== 'iam' && method !== 'ec2') throw new Ended('usage', '--method must be iam or ec2')
  if (region !== undefined && !REGION.test(region))
    throw new Ended('usage', '--region must be one like eu-west-1, or auto')
  if (!Object.hasOwn(documentKinds, document))
    throw new Ended('usage', `--document must be one of ${Object.keys(documentKinds).join(', ')}`)
  const asked = { base, mount, method, document: document as LoginAsked['document'] } as const
  const optional = Object.entries({ role, profile, region, headerValue, nonce })
  return { ...asked, ...Object.fromEntries(optional.filter(([, value]) => value !== undefined)) }
}

/** The parameters of a login that say who this is: of an instance its nonce too, if it has one. */
export async function proofOf(
  asked: LoginAsked,
  environment: CommandEnvironment,
): Promise<Record<string, string>> {
  if (asked.method === 'iam') return callerProof(asked)
  const { nonce, document } = asked
  return { ...(await documentProof(document, environment)), ...(nonce === undefined ? {} : { nonce }) }
}
