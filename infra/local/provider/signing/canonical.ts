import { hash } from 'node:crypto'
import { type FormPair, parseFormPairs } from '../wire/form.ts'
import { requestHeaderOf, type WireRequest } from '../wire/http.ts'
import type { PresentedSignature } from './presented-signature.ts'

/**
 * Builds the canonical request that a signer must have hashed.
 * @param unsigned names of query parameters that were added after signing
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html, step 1
 */
export function buildCanonicalRequest(
  request: WireRequest,
  presented: PresentedSignature,
  unsigned: ReadonlySet<string>,
): string {
  return [
    request.method,
    toCanonicalPath(request.path),
    canonicalQuery(parseFormPairs(request.query) ?? [], unsigned),
    ...presented.signedHeaders.map(name => `${name}:${canonicalValue(request, name)}`),
    '',
    presented.signedHeaders.join(';'),
    sha256Hex(request.body),
  ].join('\n')
}

/** Returns the SHA-256 hash in lower-case hexadecimal. */
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex')

/**
 * Removes dot segments and doubled slashes from a path, and encodes each segment once more, because
 * signatures of every service except S3 cover the encoded path in encoded form.
 */
export function toCanonicalPath(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(encode(segment))
  }
  const trailing = kept.length > 0 && /\/\.{0,2}$/.test(path) ? '/' : ''
  return `/${kept.join('/')}${trailing}`
}

function canonicalQuery(pairs: readonly FormPair[], unsigned: ReadonlySet<string>): string {
  return pairs
    .filter(([name]) => !unsigned.has(name))
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(byNameThenValue)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

const byNameThenValue = (a: FormPair, b: FormPair): number => compare(a[0], b[0]) || compare(a[1], b[1])

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const canonicalValue = (request: WireRequest, name: string): string =>
  (requestHeaderOf(request, name) ?? '').trim().replace(/\s+/g, ' ')

const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
