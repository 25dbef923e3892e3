import { createHmac, createSecretKey } from 'node:crypto'
import { sha256 } from '../../values/secret.ts'

/** A POST to a service of AWS, before it is signed. */
export interface UnsignedPost {
  url: URL
  /** by lower-case name, without `host` */
  headers: Readonly<Record<string, string>>
  body: string
  /** name of the service in credential scopes */
  service: string
  region: string
}

interface Signer {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

// a key given as bytes takes several times as long
const hmac = (key: Buffer | string, text: string): Buffer =>
  createHmac('sha256', typeof key === 'string' ? key : createSecretKey(key))
    .update(text)
    .digest()

/**
 * The headers of a request, signed by Signature Version 4.
 * @param now epoch milliseconds
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signedHeaders(
  { url, headers, body, service, region }: UnsignedPost,
  { accessKeyId, secretAccessKey, sessionToken }: Signer,
  now: number,
): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const all: Record<string, string> = {
    ...headers,
    'x-amz-date': time,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  }
  const signed = Object.entries({ ...all, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1))
  const names = signed.map(([name]) => name).join(';')
  const lines = signed.map(([name, value]) => `${name}:${value.trim()}\n`).join('')
  const canonical = ['POST', url.pathname, '', lines, names, sha256(body).toString('hex')].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical).toString('hex')].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`)
  const signature = hmac(key, text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...all, authorization }
}
