import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  computeAuditHmac,
  decryptBatchToken,
  decryptField,
  deriveHmacKey,
  deriveTermKeys,
  encryptBatchToken,
  encryptField,
  GCM_NONCE_LENGTH,
  termNumberOf,
} from '../../../shared/storage/encryption.ts'
import { key } from '../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'

const one = deriveTermKeys(1, Buffer.alloc(32, 1))
const two = deriveTermKeys(2, Buffer.alloc(32, 2))
const hmacKey = deriveHmacKey(Buffer.alloc(32, 1))
const nonce = Buffer.alloc(GCM_NONCE_LENGTH, 9)
const role = key('role', 'auth_1', 'dev')
const encrypt = (text = 'S3CRET', term = one) => encryptField(term, role, 'hmacKey', text, nonce)

describe('encrypted fields', () => {
  test('encrypted fields decrypt at their own place, and reveal nothing otherwise', () => {
    expect(decryptField([one], role, 'hmacKey', encrypt())).toBe('S3CRET')
    expect(encrypt()).not.toContain('S3CRET')
  })

  test('any text is unchanged after encryption and decryption', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aZ"\\é😀\u0000\n') }), text => {
        expect(decryptField([two, one], role, 'hmacKey', encrypt(text))).toBe(text)
      }),
    )
  })

  test('fields of two terms with the same number are each decrypted by their own term', () => {
    const other = deriveTermKeys(1, Buffer.alloc(32, 3))
    expect(other.id).not.toBe(one.id)
    const texts = [encrypt('here', one), encrypt('there', other)]
    for (const terms of [
      [one, other],
      [other, one],
    ])
      expect(texts.map(text => decryptField(terms, role, 'hmacKey', text))).toEqual(['here', 'there'])
    expect(() => decryptField([one], role, 'hmacKey', encrypt('there', other))).toThrow('cannot be decrypted')
    const token = encryptBatchToken(other, '{}', nonce)
    expect(decryptBatchToken([one, other], token)).toEqual({ content: '{}', term: other })
    expect(decryptBatchToken([one], token)).toBeUndefined()
  })

  test('fields are decrypted by the term that encrypted them', () => {
    const texts = [encrypt('old', one), encrypt('new', two)]
    expect(texts.map(text => decryptField([one, two], role, 'hmacKey', text))).toEqual(['old', 'new'])
    expect(texts[0]).toMatch(/^1\./)
    expect(texts[1]).toMatch(/^2\./)
  })

  test.each([
    ['in another item', key('role', 'auth_1', 'ops'), 'hmacKey'],
    ['in another mount', key('role', 'auth_2', 'dev'), 'hmacKey'],
    ['in another kind', { ...role, kind: 'sts-role' } as const, 'hmacKey'],
    ['in another field', role, 'other'],
  ])('fields are not decrypted %s', (_, place, field) => {
    expect(() => decryptField([one], place, field, encrypt())).toThrow('cannot be decrypted')
  })

  test('fields are not decrypted with another key, or if their term is missing or rewritten', () => {
    expect(() => decryptField([deriveTermKeys(1, Buffer.alloc(32, 3))], role, 'hmacKey', encrypt())).toThrow()
    expect(() => decryptField([two], role, 'hmacKey', encrypt())).toThrow()
    expect(() =>
      decryptField([one, two], role, 'hmacKey', encrypt().replace('1.', '2.') as EncryptedText),
    ).toThrow()
    expect(() =>
      decryptField(
        [deriveTermKeys(2, Buffer.alloc(32, 1))],
        role,
        'hmacKey',
        encrypt().replace('1.', '2.') as EncryptedText,
      ),
    ).toThrow()
  })

  test('fields are not decrypted with any character changed', () => {
    const encrypted = encrypt()
    for (let at = 0; at < encrypted.length; at++) {
      const other = encrypted[at] === 'A' ? 'B' : 'A'
      const changed = (encrypted.slice(0, at) + other + encrypted.slice(at + 1)) as EncryptedText
      expect(() => decryptField([one], role, 'hmacKey', changed)).toThrow(
        'an encrypted hmacKey of a role cannot be decrypted',
      )
    }
  })

  test.each(['', '.', '1', '1.', '1.AAAA', 'x.AAAA', `1.${'A'.repeat(38)}=`])(
    'the text %j is not decrypted',
    text => {
      expect(() => decryptField([one], role, 'hmacKey', text as EncryptedText)).toThrow('cannot be decrypted')
    },
  )
})

describe('the term that an encrypted text names', () => {
  test.each([
    ['1.x', 1],
    ['12.x', 12],
    ['123456789.x', 123456789],
    ['', undefined],
    ['.x', undefined],
    ['1', undefined],
    ['0.x', undefined],
    ['01.x', undefined],
    ['-1.x', undefined],
    ['1e3.x', undefined],
    ['1234567890.x', undefined],
  ])('%j: %s', (text, term) => expect(termNumberOf(text)).toBe(term))
})

describe('batch tokens', () => {
  test('batch tokens are decrypted with the keyring that encrypted the tokens', () => {
    expect(decryptBatchToken([two, one], encryptBatchToken(one, '{"a":1}', nonce))).toEqual({
      content: '{"a":1}',
      term: one,
    })
  })

  test.each([
    ['nothing', ''],
    ['something else', '1.AAAA'],
    ['an encrypted field', encrypt()],
    ['another version', encryptBatchToken(two, '{}', nonce)],
    ['a changed one', `${encryptBatchToken(one, '{}', nonce).slice(0, -1)}A`],
    ['one with an additional character', `${encryptBatchToken(one, '{}', nonce)}A`],
    ['padding', `${encryptBatchToken(one, '{}', nonce)}=`],
  ])('%s is not decrypted as a batch token', (_, text) =>
    expect(decryptBatchToken([one], text)).toBeUndefined(),
  )

  test('batch tokens are not decrypted as an encrypted field', () => {
    const encrypted = encryptBatchToken(one, 'x', nonce) as EncryptedText
    expect(() => decryptField([one], role, 'hmacKey', encrypted)).toThrow()
  })
})

describe('values in the audit log', () => {
  test('values have the same HMAC for the same value and key', () => {
    expect(computeAuditHmac(hmacKey, 'a')).toMatch(/^hmac-sha256:[0-9a-f]{64}$/)
    expect(computeAuditHmac(hmacKey, 'a')).toBe(computeAuditHmac(deriveHmacKey(Buffer.alloc(32, 1)), 'a'))
    expect(computeAuditHmac(hmacKey, 'a')).not.toBe(computeAuditHmac(hmacKey, 'b'))
    expect(computeAuditHmac(hmacKey, 'a')).not.toBe(computeAuditHmac(deriveHmacKey(Buffer.alloc(32, 2)), 'a'))
  })

  test('keys for different purposes differ, even for the same data key', () => {
    const keys = [one.items, one.tokens, hmacKey]
    expect(new Set(keys.map(key => key.export().toString('hex'))).size).toBe(3)
    expect(keys.map(key => key.symmetricKeySize)).toEqual([32, 32, 32])
  })
})
