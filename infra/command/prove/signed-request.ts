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

/**
 * Returns the headers of a request with its Signature Version 4. All services accept the header with the body's hash,
 * and S3 requires it.
 */
export function signAwsRequest(
  { method, url, headers = {}, body }: AwsRequest,
  { accessKeyId, secretAccessKey, sessionToken }: WorkloadCredentials,
  { service, region, now }: SignatureScope,
): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const all: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': time,
    ...(sessionToken ? { 'x-amz-security-token': sessionToken } : {}),
  }
  const names = Object.keys(all).sort()
  const query = [...url.searchParams]
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&')
  const canonical = [
    method,
    url.pathname,
    query,
    ...names.map(name => `${name}:${all[name]}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n')
  const scope = [time.slice(0, 8), region, service, 'aws4_request']
  const key = scope.reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  )
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n')
  const signature = createHmac('sha256', key).update(text).digest('hex')
  all['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return all
}
