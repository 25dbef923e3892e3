import { generateKeyPairSync, sign } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { DR_REPLICATION_FEATURE } from '../../../shared/api/licence.ts'

/** The licence as environment variables of functions. */
export interface LicenceVariables {
  LICENSE: string
  LICENSE_PUBLIC_KEY: string
}

const YEARS_10 = 10 * 365 * 86_400

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Creates a licence for a cluster on this machine. The key that signs the licence is discarded. */
export function createLocalLicence(cluster: string, now: number): LicenceVariables {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const iat = Math.floor(now / 1000)
  const claims = { jti: `local-${cluster}`, features: [DR_REPLICATION_FEATURE], iat, exp: iat + YEARS_10 }
  const signed = `${part({ alg: 'EdDSA', typ: 'JWT' })}.${part(claims)}`
  return {
    LICENSE: `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`,
    LICENSE_PUBLIC_KEY: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  }
}

/** Returns the licence in a cluster's folder, and creates a missing licence. */
export function readOrCreateLicence(directory: string, cluster: string): LicenceVariables {
  const file = `${directory}/licence.json`
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as LicenceVariables
  const made = createLocalLicence(cluster, Date.now())
  writeFileSync(file, JSON.stringify(made), { mode: 0o600 })
  return made
}
