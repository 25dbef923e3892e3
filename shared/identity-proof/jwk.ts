import { createPublicKey, type KeyObject } from 'node:crypto'
import type { IssuerKey } from '../model/jwt.ts'
import { decodeUnpaddedBase64Url } from '../values/base64.ts'
import { isObject, readJson } from '../values/json.ts'
import { failed, ok, type Result } from '../values/result.ts'

const MOST_KEYS = 10
const LIMITS = { depth: 6, members: 100, values: 1000, uniqueKeys: true }
const EXPONENT = 'AQAB'
const SMALLEST_MODULUS = 256
const LARGEST_MODULUS = 512
const COORDINATE = 48
/** Members that only private and symmetric keys have. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

export const KEY_ID = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * Reads the key set of an issuer. Keys of other kinds are ignored. A set with a key ID twice or with a private
 * member is refused as a whole. @see docs/spec/login-jwt.md#keys
 */
export function parseKeySet(text: string): Result<readonly IssuerKey[], string> {
  const read = readJson(text, LIMITS)
  const keys = read.ok && isObject(read.value) ? read.value['keys'] : undefined
  if (!Array.isArray(keys) || !keys.every(isObject)) return failed('the answer is not a key set')
  if (keys.length > MOST_KEYS) return failed(`the key set has more than ${MOST_KEYS} keys`)
  if (keys.some(key => PRIVATE.some(name => Object.hasOwn(key, name))))
    return failed('the key set contains a private key')
  const ids = keys.map(key => key['kid'])
  if (new Set(ids).size < ids.length) return failed('the key set contains a key ID twice')
  const usable = keys.flatMap(readKey)
  return usable.length > 0 ? ok(usable) : failed('the key set contains no usable key')
}

function readKey({ kid, kty, alg, use, crv, n, e, x, y }: Record<string, unknown>): IssuerKey[] {
  if (typeof kid !== 'string' || !KEY_ID.test(kid) || (use !== undefined && use !== 'sig')) return []
  const key: IssuerKey | undefined =
    kty === 'RSA' && e === EXPONENT && isModulus(n) && isOneOf(alg, 'RS256')
      ? { kid, alg: 'RS256', n }
      : kty === 'EC' && crv === 'P-384' && isCoordinate(x) && isCoordinate(y) && isOneOf(alg, 'ES384')
        ? { kid, alg: 'ES384', x, y }
        : undefined
  return key && importable(key) ? [key] : []
}

const isOneOf = (alg: unknown, wanted: string): boolean => alg === undefined || alg === wanted

const bytesOf = (value: unknown): Buffer | undefined =>
  typeof value === 'string' ? decodeUnpaddedBase64Url(value) : undefined

const isModulus = (value: unknown): value is string => {
  const bytes = bytesOf(value)
  return (
    bytes !== undefined &&
    bytes.length >= SMALLEST_MODULUS &&
    bytes.length <= LARGEST_MODULUS &&
    // the highest bit is set, so the length in bytes is the length of the modulus
    (bytes[0] ?? 0) >= 0x80
  )
}

const isCoordinate = (value: unknown): value is string => bytesOf(value)?.length === COORDINATE

/** Reports whether a key can be imported: the point of an EC key must be on its curve. */
function importable(key: IssuerKey): boolean {
  try {
    return keyObjectOf(key) !== undefined
  } catch {
    return false
  }
}

const imported = new Map<string, KeyObject>()
const MOST_IMPORTED = 1000

/** Returns the imported form of a key, which is remembered by the content of the key. */
export function keyObjectOf({ alg, n, x, y }: IssuerKey): KeyObject {
  const name = `${alg} ${n ?? ''} ${x ?? ''} ${y ?? ''}`
  const known = imported.get(name)
  if (known) return known
  const jwk =
    alg === 'RS256'
      ? { kty: 'RSA', n: n ?? '', e: EXPONENT }
      : { kty: 'EC', crv: 'P-384', x: x ?? '', y: y ?? '' }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  if (imported.size >= MOST_IMPORTED) imported.clear()
  imported.set(name, key)
  return key
}
