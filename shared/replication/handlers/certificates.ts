import { X509Certificate } from 'node:crypto'
import type { Authorities } from '../../ports.ts'
import { caTooLargeError, invalidCaError, unknownCaFileError } from '../operation/refusals.ts'

/** Maximum size of the certificates that a link stores, bytes of PEM. */
const LARGEST = 32_768
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** The request parameters that name the authorities of the primary's certificate; all parameters are optional. */
export interface AuthorityParameters {
  ca_cert?: string | undefined
  ca_file?: string | undefined
  ca_path?: string | undefined
}

/**
 * Returns the authorities' certificates for verifying the primary's certificate, as PEM; undefined means the public
 * authorities. Files and folders must be part of the deployment. The function combines the certificates of several
 * parameters.
 * @throws ApiError for a text that is not an authority's certificate, and for unknown names of files or folders
 */
export async function loadAuthorities(
  { ca_cert = '', ca_file = '', ca_path = '' }: AuthorityParameters,
  authorities: Authorities,
): Promise<string | undefined> {
  const shipped = ca_file || ca_path ? await authorities.shipped() : new Map<string, string>()
  const texts = [
    ...(ca_cert === '' ? [] : [ca_cert]),
    ...(ca_file === '' ? [] : [fileAt(ca_file, shipped)]),
    ...(ca_path === '' ? [] : filesBelow(ca_path, shipped)),
  ]
  if (texts.length === 0) return undefined
  const certificates = texts.flatMap(text => parseAuthorities(text) ?? notUsable())
  const pem = [...new Set(certificates)].join('\n')
  if (pem.length > LARGEST) throw caTooLargeError()
  return pem
}

/**
 * Splits a text into certificates of authorities, PEM. Returns undefined if the text contains anything except
 * certificates.
 */
export function parseAuthorities(text: string): string[] | undefined {
  const blocks = text.match(BLOCK) ?? []
  const rest = text.replaceAll(BLOCK, '').trim()
  return blocks.length > 0 && rest === '' && blocks.every(isAuthority) ? blocks : undefined
}

function fileAt(name: string, shipped: ReadonlyMap<string, string>): string {
  const found = shipped.get(normalisePath(name))
  if (found === undefined) throw unknownCaFileError('ca_file', name, [...shipped.keys()])
  return found
}

function filesBelow(folder: string, shipped: ReadonlyMap<string, string>): string[] {
  const below = normalisePath(folder) === '.' ? '' : `${normalisePath(folder)}/`
  const found = [...shipped].flatMap(([name, text]) => (name.startsWith(below) ? [text] : []))
  if (found.length === 0) throw unknownCaFileError('ca_path', folder, [...shipped.keys()])
  return found
}

/** Returns a relative path without `./` at the beginning and without slashes at the end. */
const normalisePath = (name: string): string => name.replace(/^(\.\/+)+(?=.)/, '').replace(/(?<=.)\/+$/, '')

function notUsable(): never {
  throw invalidCaError()
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
