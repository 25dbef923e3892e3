import { X509Certificate } from 'node:crypto'
import { caFilesUnusable, caUnusable } from './refusals.ts'

const LARGEST = 32_768
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Which certificates vouch for a primary's, as a request gives them; all are optional. */
export interface GivenAuthorities {
  ca_cert?: string | undefined
  ca_file?: string | undefined
  ca_path?: string | undefined
}

/**
 * Certificates that vouch for a primary's instead of the usual ones, as PEM; undefined for the usual ones.
 * @throws ApiError for what is none, and for files: there is no disk that an administrator could put one on
 */
export function authoritiesOf({ ca_cert = '', ca_file, ca_path }: GivenAuthorities): string | undefined {
  if (ca_file || ca_path) throw caFilesUnusable()
  if (ca_cert === '') return undefined
  const blocks = ca_cert.match(BLOCK) ?? []
  const rest = ca_cert.replaceAll(BLOCK, '').trim()
  if (blocks.length === 0 || rest !== '' || ca_cert.length > LARGEST || !blocks.every(isCertificate))
    throw caUnusable()
  return blocks.join('\n')
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
