import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generateOtp, maskToken, unmaskToken } from '../../../shared/ceremony/encode.ts'
import { generateServiceTokenText, TOKEN_TEXT_LENGTH } from '../../../shared/model/token.ts'
import { inEachForm } from '../../builders/base64-forms.ts'

/** Decodes as Vault's command line does: base64 without padding, then XOR with the one-time password. */
const decoded = (encoded: string, otp: string): string => {
  const pad = Buffer.from(otp)
  return Buffer.from(Buffer.from(encoded, 'base64').map((byte, index) => byte ^ (pad[index] ?? 0))).toString()
}

describe('masking a token with a one-time password', () => {
  test('a masked token is unmasked with the same password', () => {
    const ascii = fc.string({
      unit: 'binary-ascii',
      minLength: TOKEN_TEXT_LENGTH,
      maxLength: TOKEN_TEXT_LENGTH,
    })
    fc.assert(
      fc.property(ascii, otp => {
        const token = generateServiceTokenText(randomBytes).reveal()
        expect(decoded(maskToken(token, otp), otp)).toBe(token)
      }),
    )
  })

  test('the masked token equals a known vector, without padding', () => {
    expect(maskToken('hvs.', 'abcd')).toBe('CRQQSg')
  })

  const otp = generateOtp(randomBytes, TOKEN_TEXT_LENGTH + 1)
  const token = `${generateServiceTokenText(randomBytes).reveal()}x`
  const padded = maskToken(token, otp).padEnd(48, '=')
  test.each([...inEachForm(padded), ...inEachForm(padded.replace(/=+$/, ''))])(
    'a masked token is unmasked in the form: %s',
    (_, text) => expect(unmaskToken(text, otp)).toBe(token),
  )

  test('a token and a password of different lengths are an error', () =>
    expect(() => maskToken('hvs.x', 'abcd')).toThrow('not as long'))
})

describe('generating a one-time password', () => {
  test("a password has the token's length, and each letter and digit at each position", () => {
    const many = Array.from({ length: 2000 }, () => generateOtp(randomBytes, TOKEN_TEXT_LENGTH))
    for (const otp of many) expect(otp).toMatch(/^[0-9A-Za-z]{33}$/)
    expect(generateServiceTokenText(randomBytes).reveal()).toHaveLength(33)
    for (const at of [0, 16, 32]) expect(new Set(many.map(otp => otp[at])).size).toBe(62)
  })
})
