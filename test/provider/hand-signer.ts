import { createHash, createHmac } from 'node:crypto'

/** A key in the form that tests use. */
export interface TestKey {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/** A request to sign or send. */
export interface TestRequest {
  method: string
  path: string
  query: string
  headers: [name: string, value: string][]
  body: string
}

/** The key, scope and date of a signature. */
export interface Signing {
  key: TestKey
  region: string
  service: string
  /** `YYYYMMDD'T'HHMMSS'Z'` */
  date: string
}

/**
 * Returns a request of the shape that workloads forward: POST, form body, and the usual signed
 * headers.
 */
export const callerIdentityPost = (host: string, extra: [string, string][] = []): TestRequest => ({
  method: 'POST',
  path: '/',
  query: '',
  headers: [['Host', host], ['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8'], ...extra],
  body: 'Action=GetCallerIdentity&Version=2011-06-15',
})

/** Formats a time in the format of signatures. */
export const basicDate = (time = Date.now()): string =>
  new Date(time).toISOString().replaceAll(/[-:]|\.\d+/g, '')

/**
 * Signs a request in the header form, with all its headers. The code is separate from the provider, so that
 * signer and verifier check each other. `dateHeader` replaces the usual date header.
 */
export function signHeaders(
  request: TestRequest,
  signing: Signing,
  dateHeader: [string, string] = ['X-Amz-Date', signing.date],
): TestRequest {
  const { key } = signing
  const headers = [...request.headers, dateHeader]
  if (key.sessionToken) headers.push(['X-Amz-Security-Token', key.sessionToken])
  const { signedHeaders, signature } = signatureOf({ ...request, headers }, signing)
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential(signing)}, SignedHeaders=${signedHeaders}, Signature=${signature}`
  return { ...request, headers: [...headers, ['Authorization', authorization]] }
}

/** Signs a request in the query form. `lateToken` appends the session token after signing. */
export function presign(request: TestRequest, signing: Signing, lateToken = false): TestRequest {
  const { key, date } = signing
  const names = request.headers.map(([name]) => name.toLowerCase()).sort()
  const token = key.sessionToken ? `&X-Amz-Security-Token=${encodeURIComponent(key.sessionToken)}` : ''
  const query = [
    request.query,
    'X-Amz-Algorithm=AWS4-HMAC-SHA256',
    `X-Amz-Credential=${encodeURIComponent(credential(signing))}`,
    `X-Amz-Date=${date}`,
    'X-Amz-Expires=60',
    `X-Amz-SignedHeaders=${encodeURIComponent(names.join(';'))}`,
  ].join('&')
  const toSign = lateToken ? query : query + token
  const { signature } = signatureOf({ ...request, query: toSign }, signing)
  return { ...request, query: `${query}${token}&X-Amz-Signature=${signature}` }
}

const credential = ({ key, region, service, date }: Signing): string =>
  `${key.accessKeyId}/${date.slice(0, 8)}/${region}/${service}/aws4_request`

function signatureOf(request: TestRequest, { key, region, service, date }: Signing) {
  const sorted = request.headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  sorted.sort((a, b) => (a[0] < b[0] ? -1 : 1))
  const signedHeaders = sorted.map(([name]) => name).join(';')
  const canonical = `${request.method}\n${request.path}\n${request.query.split('&').sort().join('&')}\n${sorted
    .map(([name, value]) => `${name}:${value}\n`)
    .join('')}\n${signedHeaders}\n${sha256(request.body)}`
  const day = date.slice(0, 8)
  const scope = `${day}/${region}/${service}/aws4_request`
  const signingKey = hmac(
    hmac(hmac(hmac(`AWS4${key.secretAccessKey}`, day), region), service),
    'aws4_request',
  )
  const toSign = `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`
  return { signedHeaders, signature: hmac(signingKey, toSign).toString('hex') }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
