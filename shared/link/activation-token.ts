import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { openBox, sealBox } from '../storage/box.ts'
import { decodeBase64Url } from '../values/base64.ts'
import { parseObject } from '../values/json.ts'
import { RAW_KEY } from '../values/raw-keys.ts'

/** What an activation token says. Times are epoch seconds. */
export interface Activation {
  /** random, used once */
  jti: string
  /** where the primary is reached */
  addr: string
  iat: number
  exp: number
  nbf: number
  /** id of the secondary that it was made for */
  id: string
  /** UUID of the DR set */
  set: string
  /** raw Ed25519 key of the primary, base64url: only answers signed by it are accepted */
  primaryKey: string
  /** raw X25519 key of the primary, base64url: the request that hands in the token is sealed to it */
  exchangeKey: string
}

/** Seconds that a secondary's clock may be behind. */
const NOT_BEFORE_SECONDS = 5
const HEADER = Buffer.from(JSON.stringify({ alg: 'ES512', kid: '', typ: 'JWT' })).toString('base64url')
const SIGNATURE = { dsaEncoding: 'ieee-p1363' } as const
const KEY_TEXT = { type: 'pkcs8', format: 'der' } as const

/** A new P-521 key that signs activation tokens, as text. It is a secret. */
export const newSignerKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey.export(KEY_TEXT).toString('base64')

export const parseSignerKey = (text: string): KeyObject =>
  createPrivateKey({ key: Buffer.from(text, 'base64'), ...KEY_TEXT })

/** A three-part JWT, as clients of the API know it, with the claims of this product beside the usual ones. */
export function makeActivationJwt(
  signer: KeyObject,
  { jti, addr, iat, exp, id, set, primaryKey, exchangeKey }: Omit<Activation, 'nbf'>,
): string {
  const claims = {
    jti,
    addr,
    iat,
    exp,
    nbf: iat - NOT_BEFORE_SECONDS,
    type: 'wrapping',
    accessor: '',
    id,
    cluster_id: set,
    primary_key: primaryKey,
    exchange_key: exchangeKey,
  }
  const signed = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${sign('sha512', Buffer.from(signed), { key: signer, ...SIGNATURE }).toString('base64url')}`
}

/** Whether a token was signed by the primary's own key. Nothing else tells who made it. */
export function isSignedBy(signer: KeyObject, token: string): boolean {
  const [header, claims, signature = '', ...more] = token.split('.')
  const bytes = decodeStrictly(signature)
  if (header !== HEADER || more.length > 0 || !bytes) return false
  return verify(
    'sha512',
    Buffer.from(`${header}.${claims}`),
    { key: createPublicKey(signer), ...SIGNATURE },
    bytes,
  )
}

/** The claims of a token, unverified; undefined for a text that is not an activation token. */
export function readActivation(token: string): Activation | undefined {
  const [header, middle = '', signature = '', ...more] = token.split('.')
  const json = decodeStrictly(middle)
  if (header !== HEADER || more.length > 0 || !json || !decodeStrictly(signature)) return undefined
  const claims = parseObject(json.toString('utf8'))
  if (claims?.['type'] !== 'wrapping') return undefined
  const { jti, addr, id, cluster_id: set, primary_key: primaryKey, iat, exp, nbf } = claims
  const { exchange_key: exchangeKey } = claims
  const texts = [jti, addr, id, set, primaryKey]
  const times = [iat, exp, nbf]
  if (!texts.every(one => typeof one === 'string' && one !== '')) return undefined
  if (!times.every(one => Number.isSafeInteger(one))) return undefined
  if (!isRawKey(exchangeKey)) return undefined
  return { jti, addr, id, set, primaryKey, exchangeKey, iat, exp, nbf } as Activation
}

const isRawKey = (value: unknown): boolean =>
  typeof value === 'string' && decodeStrictly(value)?.length === RAW_KEY

const decodeStrictly = (text: string): Buffer | undefined =>
  text === '' || text.includes('=') ? undefined : decodeBase64Url(text)

const BOX = { purpose: 'activation token', set: '' } as const

/** A token that only one secondary can read; it has no dots. @param recipient its raw X25519 key */
export const sealToken = (recipient: Uint8Array, token: string, random: (length: number) => Buffer): string =>
  sealBox(recipient, BOX, token, random)

/** The token inside; undefined when it was not sealed to this key. @param own X25519 */
export const openSealedToken = (own: KeyObject, text: string): string | undefined => openBox(own, BOX, text)
