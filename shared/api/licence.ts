import { createPublicKey, verify } from 'node:crypto'
import type { Deployment } from '../ports.ts'
import { parseJsonObject } from '../values/json.ts'
import { failed, ok, type Result } from '../values/result.ts'

/** The signed content of a licence. Times are epoch seconds. */
export interface Licence {
  id: string
  /** names of features, such as `DR Replication` */
  features: readonly string[]
  startsAt: number
  endsAt: number
}

/** The licence of a deployment, or why it has none. */
export type LicenceResult = Result<Licence, string>

export const DR_REPLICATION_FEATURE = 'DR Replication'

/**
 * A rule of an endpoint for the licence.
 * @param now epoch milliseconds
 * @returns why the licence does not satisfy the rule; undefined if it does
 */
export type LicenceRule = (license: Deployment['license'], now: number) => string | undefined

const PART = /^[A-Za-z0-9_-]+$/
const HEADER = { alg: 'EdDSA', typ: 'JWT' }

/**
 * Reads a licence: a JWT signed with Ed25519 (`alg` `EdDSA`). Required claims: `features` (a list of names) and `exp`. Optional:
 * `nbf`, `iat`, `jti`. Does not check the expiry.
 * @see docs/spec/replication.md#licence
 */
export function readLicence({ text, publicKey }: Deployment['license']): LicenceResult {
  if (text === '') return failed('this deployment has no licence')
  const parts = text.split('.')
  const [header = '', claims = '', signature = ''] = parts
  if (parts.length !== 3 || !parts.every(part => PART.test(part)))
    return failed('the licence is not a signed token')
  const key = keyOf(publicKey)
  if (!key) return failed('licensePublicKey is not an Ed25519 public key')
  const { alg } = jsonIn(header)
  if (alg !== HEADER.alg) return failed(`the licence must be signed with algorithm ${HEADER.alg}`)
  const signed = verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))
  return signed
    ? licenceIn(jsonIn(claims))
    : failed('the licence’s signature does not match licensePublicKey')
}

function keyOf(publicKey: string) {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ed25519' ? key : undefined
  } catch {
    return undefined
  }
}

const jsonIn = (part: string): Readonly<Record<string, unknown>> =>
  parseJsonObject(Buffer.from(part, 'base64url').toString('utf8')) ?? {}

function licenceIn({ jti, features, exp, nbf, iat }: Readonly<Record<string, unknown>>): LicenceResult {
  const isNameList = Array.isArray(features) && features.every(one => typeof one === 'string')
  if (!isNameList) return failed('the licence names no features')
  if (!Number.isSafeInteger(exp)) return failed('the licence has no expiry')
  const startsAt = [nbf, iat].find(one => Number.isSafeInteger(one)) ?? 0
  return ok({
    id: typeof jti === 'string' ? jti : '',
    features: features as string[],
    startsAt: Number(startsAt),
    endsAt: Number(exp),
  })
}

/** Requires that the licence names the feature. The licence may have expired, because running replication continues. */
export const requireDrReplication: LicenceRule = (license, now) => missingFrom(readLicence(license), now)

/** Requires that the licence names the feature and has not expired, which starting something new needs. */
export const requireUnexpiredLicence: LicenceRule = (license, now) => {
  const licensing = readLicence(license)
  const ended = licensing.ok && licensing.value.endsAt * 1000 <= now
  return missingFrom(licensing, now) ?? (ended ? 'the licence has expired' : undefined)
}

function missingFrom(licensing: LicenceResult, now: number): string | undefined {
  if (!licensing.ok) return licensing.fault
  const { features, startsAt } = licensing.value
  if (!features.includes(DR_REPLICATION_FEATURE)) return `the licence does not name ${DR_REPLICATION_FEATURE}`
  return startsAt * 1000 > now ? 'the licence is not valid yet' : undefined
}
