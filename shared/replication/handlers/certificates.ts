import { X509Certificate } from 'node:crypto'
import type { Authorities } from '../../ports.ts'
import { caFileUnknown, caTooLarge, caUnusable } from '../operation/refusals.ts'

/** Bytes of PEM that a link keeps. */
const LARGEST = 32_768
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Which certificates vouch for a primary's, as a request gives them; all are optional. */
export interface AuthorityParameters {
  ca_cert?: string | undefined
  ca_file?: string | undefined
  ca_path?: string | undefined
}

/**
 * Certificates that vouch for a primary's instead of the usual ones, as PEM; undefined for the usual ones. Files and
 * folders are those that the deployment ships; what is given in several ways counts together.
 * @throws ApiError for a text that is no certificate of an authority, and for unknown names
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
  if (pem.length > LARGEST) throw caTooLarge()
  return pem
}

/** The certificates of a text that holds authorities' and nothing else, PEM; undefined for any other text. */
export function parseAuthorities(text: string): string[] | undefined {
  const blocks = text.match(BLOCK) ?? []
  const rest = text.replaceAll(BLOCK, '').trim()
  return blocks.length > 0 && rest === '' && blocks.every(isAuthority) ? blocks : undefined
}

function fileAt(name: string, shipped: ReadonlyMap<string, string>): string {
  const found = shipped.get(normalisePath(name))
  if (found === undefined) throw caFileUnknown('ca_file', name, [...shipped.keys()])
  return found
}

function filesBelow(folder: string, shipped: ReadonlyMap<string, string>): string[] {
  const below = normalisePath(folder) === '.' ? '' : `${normalisePath(folder)}/`
  const found = [...shipped].flatMap(([name, text]) => (name.startsWith(below) ? [text] : []))
  if (found.length === 0) throw caFileUnknown('ca_path', folder, [...shipped.keys()])
  return found
}

/** A relative name in its shortest spelling. */
const normalisePath = (name: string): string => name.replace(/^(\.\/+)+(?=.)/, '').replace(/(?<=.)\/+$/, '')

function notUsable(): never {
  throw caUnusable()
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
