import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

/** An unsigned POST to an AWS service. */
export interface UnsignedPost {
  /** host, with the port unless it is the protocol's default */
  host: string
  path: string
  /** `headers` by lower-case name, without `host`; all headers are signed */
  headers: Readonly<Record<string, string>>
  body: string | Uint8Array
}

/** The credentials with which a request is signed. */
export interface SigningKey {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/**
 * Returns the headers of a POST with its signature.
 * @param now epoch milliseconds
 */
export type SignPost = (post: UnsignedPost, by: SigningKey, now: number) => Record<string, string>

const ALGORITHM = 'AWS4-HMAC-SHA256'

const hmac = (key: KeyObject | Buffer | string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** Characters that `encodeURIComponent` keeps and RFC 3986 encodes. */
const RESERVED = /[!'()*]/g
const hex = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`

/** Percent-encodes a text as in AWS signatures. */
const percentEncoded = (text: string): string => encodeURIComponent(text).replace(RESERVED, hex)

/** Percent-encodes a path again, because all services except S3 sign a path encoded twice. */
const canonicalPath = (path: string): string => percentEncoded(path).replaceAll('%2F', '/')

/** Returns a function that formats epoch milliseconds as in signatures, to the second. */
function createTimeFormatter(): (now: number) => string {
  // the function keeps the last formatted time, because many signatures fall into the same second
  let [lastSecond, text] = [Number.NaN, '']
  return now => {
    const second = Math.floor(now / 1000)
    if (lastSecond !== second) text = new Date(second * 1000).toISOString().replace(/[-:]|\.\d{3}/g, '')
    lastSecond = second
    return text
  }
}

/**
 * Creates a function that signs POSTs to one service in one region with Signature Version 4. The signing key of a
 * day needs five HMACs, so the function keeps it, as a key object that need not be parsed for each signature.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function createSigV4Signer(service: string, region: string): SignPost {
  let kept: { secret: string; day: string; key: KeyObject } | undefined
  const timeText = createTimeFormatter()

  function keyOf(secret: string, day: string): KeyObject {
    if (kept?.day !== day || kept.secret !== secret) {
      const key = [day, region, service, 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secret}`)
      kept = { secret, day, key: createSecretKey(key as Buffer) }
    }
    return kept.key
  }

  return ({ host, path, headers, body }, { accessKeyId, secretAccessKey, sessionToken }, now) => {
    const time = timeText(now)
    const day = time.slice(0, 8)
    const all: Record<string, string> = { ...headers, host, 'x-amz-date': time }
    if (sessionToken !== undefined) all['x-amz-security-token'] = sessionToken
    const signed = Object.keys(all).sort()
    const names = signed.join(';')
    let canonical = `POST\n${path === '/' ? path : canonicalPath(path)}\n\n`
    for (const name of signed) canonical += `${name}:${all[name]?.trim()}\n`
    canonical += `\n${names}\n${hash('sha256', body)}`
    const scope = `${day}/${region}/${service}/aws4_request`
    const text = `${ALGORITHM}\n${time}\n${scope}\n${hash('sha256', canonical)}`
    const signature = createHmac('sha256', keyOf(secretAccessKey, day)).update(text).digest('hex')
    all['authorization'] =
      `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
    return all
  }
}
