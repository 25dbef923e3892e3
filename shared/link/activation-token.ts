import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { openSealedBox, sealBoxForKey } from '../storage/box.ts'
import { decodeUnpaddedBase64Url } from '../values/base64.ts'
import { parseJsonObject } from '../values/json.ts'
import { RAW_KEY_BYTES } from '../values/raw-keys.ts'

/** The claims of an activation token. Times in the claims are epoch seconds. */
export interface ActivationClaims {
  /** random, used once */
  jti: string
  /** address of the primary */
  addr: string
  iat: number
  exp: number
  nbf: number
  /** name of the secondary that the token was made for */
  id: string
  /** UUID of the DR set */
  set: string
  /**
   * `primaryKey` is the raw Ed25519 key of the primary, base64url. The secondary accepts only answers signed by the
   * primary's key.
   */
  primaryKey: string
  /**
   * `exchangeKey` is the raw X25519 key of the primary, base64url. The secondary seals the request that hands in
   * the token to this exchange key.
   */
  exchangeKey: string
}

/** Seconds by which a secondary's clock may be behind the primary's. */
const NOT_BEFORE_SECONDS = 5
const HEADER = Buffer.from(JSON.stringify({ alg: 'ES512', kid: '', typ: 'JWT' })).toString('base64url')
const SIGNATURE = { dsaEncoding: 'ieee-p1363' } as const
const KEY_TEXT = { type: 'pkcs8', format: 'der' } as const

/** Creates a P-521 key that signs activation tokens, as text. The activation token is a secret. */
export const generateSignerKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey.export(KEY_TEXT).toString('base64')

export const parseSignerKey = (text: string): KeyObject =>
  createPrivateKey({ key: Buffer.from(text, 'base64'), ...KEY_TEXT })

/** Signs an activation token: a three-part JWT in the form that Vault's clients know, with additional claims. */
export function makeActivationJwt(
  signer: KeyObject,
  { jti, addr, iat, exp, id, set, primaryKey, exchangeKey }: Omit<ActivationClaims, 'nbf'>,
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

/** Reports whether the primary's own key signed a token. The signature is the only proof of who made the token. */
export function isTokenSignedBy(signer: KeyObject, token: string): boolean {
  const [header, claims, signature = '', ...more] = token.split('.')
  const bytes = decodeUnpaddedBase64Url(signature)
  if (header !== HEADER || more.length > 0 || !bytes) return false
  return verify(
    'sha512',
    Buffer.from(`${header}.${claims}`),
    { key: createPublicKey(signer), ...SIGNATURE },
    bytes,
  )
}

/** Returns the claims of a token, unverified; undefined for a text that is not an activation token. */
export function readActivationClaims(token: string): ActivationClaims | undefined {
  const [header, middle = '', signature = '', ...more] = token.split('.')
  const json = decodeUnpaddedBase64Url(middle)
  if (header !== HEADER || more.length > 0 || !json || !decodeUnpaddedBase64Url(signature)) return undefined
  const claims = parseJsonObject(json.toString('utf8'))
  if (claims?.['type'] !== 'wrapping') return undefined
  const { jti, addr, id, cluster_id: set, primary_key: primaryKey, iat, exp, nbf } = claims
  const { exchange_key: exchangeKey } = claims
  const texts = [jti, addr, id, set, primaryKey]
  const times = [iat, exp, nbf]
  if (!texts.every(one => typeof one === 'string' && one !== '')) return undefined
  if (!times.every(one => Number.isSafeInteger(one))) return undefined
  if (!isRawKey(exchangeKey)) return undefined
  return { jti, addr, id, set, primaryKey, exchangeKey, iat, exp, nbf } as ActivationClaims
}

const isRawKey = (value: unknown): boolean =>
  typeof value === 'string' && decodeUnpaddedBase64Url(value)?.length === RAW_KEY_BYTES

const BOX = { purpose: 'activation token', set: '' } as const

/**
 * Seals an activation token so that only one secondary can read it. The text of a sealed token has no dots.
 * @param recipient raw X25519 key of the secondary
 */
export const sealActivationToken = (
  recipient: Uint8Array,
  token: string,
  random: (length: number) => Buffer,
): string => sealBoxForKey(recipient, BOX, token, random)

/**
 * Opens a sealed token; undefined if the token was not sealed to this key.
 * @param own X25519
 */
export const openActivationToken = (own: KeyObject, text: string): string | undefined =>
  openSealedBox(own, BOX, text)
