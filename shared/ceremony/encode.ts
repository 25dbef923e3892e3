import { encodeBase62 } from '../values/base62.ts'
import { readBase64 } from '../values/base64.ts'

const OTP_BYTES = 32

/** Generates a one-time password of `length` base-62 characters. */
export const generateOtp = (random: (length: number) => Buffer, length: number): string =>
  encodeBase62(random(OTP_BYTES), length).slice(-length)

/** Masks a token with a one-time password of the same length: XOR of the bytes, as base64 without padding. */
export function maskToken(token: string, otp: string): string {
  const pad = Buffer.from(otp)
  const bytes = Buffer.from(token)
  if (bytes.length !== pad.length) throw new Error('the one-time password is not as long as the token')
  const mixed = Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)))
  return mixed.toString('base64').replace(/=+$/, '')
}

/** Restores a masked token; undefined if the text and the password do not match. */
export function unmaskToken(encoded: string, otp: string): string | undefined {
  const bytes = readBase64(encoded, 'optional')
  const pad = Buffer.from(otp)
  if (bytes?.length !== pad.length) return undefined
  const plain = Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)))
  return /^[\x20-\x7e]+$/.test(plain.toString('latin1')) ? plain.toString('latin1') : undefined
}
