import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

/** A POST to a service of AWS, before it is signed. */
export interface UnsignedPost {
  /** host, with the port where it is not that of the protocol */
  host: string
  path: string
  /** by lower-case name, without `host`; all of them are signed */
  headers: Readonly<Record<string, string>>
  body: string
}

/** Who signs. */
export interface SigningKey {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/** The headers of a POST, its signature among them. @param now epoch milliseconds */
export type Sign = (post: UnsignedPost, by: SigningKey, now: number) => Record<string, string>

const ALGORITHM = 'AWS4-HMAC-SHA256'

const hmac = (key: KeyObject | Buffer | string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** What `encodeURIComponent` leaves as it is, and RFC 3986 does not. */
const RESERVED = /[!'()*]/g
const hex = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`

/** A text percent-encoded as AWS wants it in what is signed. */
const percentEncoded = (text: string): string => encodeURIComponent(text).replace(RESERVED, hex)

/** A path once more percent-encoded, as all services but S3 sign it. */
const canonicalPath = (path: string): string => percentEncoded(path).replaceAll('%2F', '/')

/** Tells moments as signatures have them, to the second. @returns of epoch milliseconds the text */
function createTimeFormatter(): (now: number) => string {
  // many signatures are of one second
  let [told, text] = [Number.NaN, '']
  return now => {
    const second = Math.floor(now / 1000)
    if (told !== second) text = new Date(second * 1000).toISOString().replace(/[-:]|\.\d{3}/g, '')
    told = second
    return text
  }
}

/**
 * Signs POSTs to one service in one region by Signature Version 4. The key of a day takes five HMACs to make, and is
 * kept; as an object of the runtime it is not read anew for each signature.
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function createSigner(service: string, region: string): Sign {
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
