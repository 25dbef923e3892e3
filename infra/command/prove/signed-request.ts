import { createHash, createHmac } from 'node:crypto'
import type { WorkloadCredentials } from '../login/signed-login.ts'

/** A request to an AWS service. */
export interface AwsRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** address with path and query. The path and the query consist of characters that need no encoding. */
  url: URL
  /** headers by lower-case name */
  headers?: Readonly<Record<string, string>>
  body: string | Uint8Array
}

/** The scope of a signature. */
export interface SignatureScope {
  service: string
  region: string
  /** epoch milliseconds */
  now: number
}

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const toAmzDate = (now: number): string => new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')

/** Returns the names of signed headers. */
const namesOf = (headers: Readonly<Record<string, string>>): string[] => Object.keys(headers).sort()

/** Returns the canonical form of a request. @param headers by lower-case name */
const canonicalise = (
  method: string,
  path: string,
  query: readonly string[],
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
): string =>
  [
    method,
    path,
    query.toSorted().join('&'),
    ...namesOf(headers).map(name => `${name}:${headers[name]}`),
    '',
    namesOf(headers).join(';'),
    sha256(body),
  ].join('\n')

const scopeOf = (time: string, { service, region }: SignatureScope): string[] => [
  time.slice(0, 8),
  region,
  service,
  'aws4_request',
]

/** Signs the canonical form of a request. */
function sign(canonical: string, time: string, scope: readonly string[], secret: string): string {
  const key = scope.reduce<string | Buffer>(
    (last, part) => createHmac('sha256', last).update(part).digest(),
    `AWS4${secret}`,
  )
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n')
  return createHmac('sha256', key).update(text).digest('hex')
}

/**
 * Returns the headers of a request with its Signature Version 4. All services accept the header with the body's hash,
 * and S3 requires it.
 */
export function signAwsRequest(
  { method, url, headers = {}, body }: AwsRequest,
  { accessKeyId, secretAccessKey, sessionToken }: WorkloadCredentials,
  signatureScope: SignatureScope,
): Record<string, string> {
  const time = toAmzDate(signatureScope.now)
  const all: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': time,
    ...(sessionToken ? { 'x-amz-security-token': sessionToken } : {}),
  }
  const query = [...url.searchParams].map(([name, value]) => `${name}=${value}`)
  const scope = scopeOf(time, signatureScope)
  const signature = sign(canonicalise(method, url.pathname, query, all, body), time, scope, secretAccessKey)
  const names = namesOf(all).join(';')
  all['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${names}, Signature=${signature}`
  return all
}

/**
 * Returns the URL of a GET request with its Signature Version 4 in the query.
 * @param headers further signed headers by lower-case name, which the sender of the request must add
 */
export function presignAwsUrl(
  { url, headers, expires_s }: { url: URL; headers: Readonly<Record<string, string>>; expires_s: number },
  { accessKeyId, secretAccessKey, sessionToken }: WorkloadCredentials,
  signatureScope: SignatureScope,
): string {
  const time = toAmzDate(signatureScope.now)
  const scope = scopeOf(time, signatureScope)
  const all = { ...headers, host: url.host }
  const parameters = {
    ...Object.fromEntries(url.searchParams),
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${accessKeyId}/${scope.join('/')}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(expires_s),
    ...(sessionToken ? { 'X-Amz-Security-Token': sessionToken } : {}),
    'X-Amz-SignedHeaders': namesOf(all).join(';'),
  }
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  const signature = sign(canonicalise('GET', url.pathname, query, all, ''), time, scope, secretAccessKey)
  return `${url.origin}${url.pathname}?${query.join('&')}&X-Amz-Signature=${signature}`
}
