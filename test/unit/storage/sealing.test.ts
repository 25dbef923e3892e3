import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { key } from '../../../shared/storage/kinds.ts'
import {
  auditHash,
  hmacKeyOf,
  NONCE_LENGTH,
  openBatch,
  openField,
  sealBatch,
  sealField,
  termOf,
  versionIn,
} from '../../../shared/storage/sealing.ts'
import type { Sealed } from '../../../shared/values/secret.ts'

const one = termOf(1, Buffer.alloc(32, 1))
const two = termOf(2, Buffer.alloc(32, 2))
const hmacKey = hmacKeyOf(Buffer.alloc(32, 1))
const nonce = Buffer.alloc(NONCE_LENGTH, 9)
const role = key('role', 'auth_1', 'dev')
const seal = (text = 'S3CRET', term = one) => sealField(term, role, 'hmacKey', text, nonce)

describe('sealed fields', () => {
  test('open where they belong, and say nothing to anybody else', () => {
    expect(openField([one], role, 'hmacKey', seal())).toBe('S3CRET')
    expect(seal()).not.toContain('S3CRET')
  })

  test('any text survives', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aZ"\\é😀\u0000\n') }), text => {
        expect(openField([two, one], role, 'hmacKey', seal(text))).toBe(text)
      }),
    )
  })

  test('every version of the keyring opens what it sealed', () => {
    const texts = [seal('old', one), seal('new', two)]
    expect(texts.map(text => openField([one, two], role, 'hmacKey', text))).toEqual(['old', 'new'])
    expect(texts[0]).toMatch(/^1\./)
    expect(texts[1]).toMatch(/^2\./)
  })

  test.each([
    ['in another item', key('role', 'auth_1', 'ops'), 'hmacKey'],
    ['in another mount', key('role', 'auth_2', 'dev'), 'hmacKey'],
    ['in another kind', { ...role, kind: 'sts-role' } as const, 'hmacKey'],
    ['in another field', role, 'other'],
  ])('do not open %s', (_, place, field) => {
    expect(() => openField([one], place, field, seal())).toThrow('cannot be opened')
  })

  test('do not open with another key, nor when their version is gone or rewritten', () => {
    expect(() => openField([termOf(1, Buffer.alloc(32, 3))], role, 'hmacKey', seal())).toThrow()
    expect(() => openField([two], role, 'hmacKey', seal())).toThrow()
    expect(() => openField([one, two], role, 'hmacKey', seal().replace('1.', '2.') as Sealed)).toThrow()
    expect(() =>
      openField([termOf(2, Buffer.alloc(32, 1))], role, 'hmacKey', seal().replace('1.', '2.') as Sealed),
    ).toThrow()
  })

  test('do not open with any character changed', () => {
    const sealed = seal()
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      const changed = (sealed.slice(0, at) + other + sealed.slice(at + 1)) as Sealed
      expect(() => openField([one], role, 'hmacKey', changed)).toThrow(
        'a sealed hmacKey of a role cannot be opened',
      )
    }
  })

  test.each(['', '.', '1', '1.', '1.AAAA', 'x.AAAA', `1.${'A'.repeat(38)}=`])('%j does not open', text => {
    expect(() => openField([one], role, 'hmacKey', text as Sealed)).toThrow('cannot be opened')
  })
})

describe('the term that a sealed text names', () => {
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
  ])('%j: %s', (text, term) => expect(versionIn(text)).toBe(term))
})

describe('batch tokens', () => {
  test('open with the keyring that sealed them', () => {
    expect(openBatch([two, one], sealBatch(one, '{"a":1}', nonce))).toBe('{"a":1}')
  })

  test.each([
    ['nothing', ''],
    ['something else', '1.AAAA'],
    ['a sealed field', seal()],
    ['another version', sealBatch(two, '{}', nonce)],
    ['a changed one', `${sealBatch(one, '{}', nonce).slice(0, -1)}A`],
    ['one with more behind it', `${sealBatch(one, '{}', nonce)}A`],
    ['padding', `${sealBatch(one, '{}', nonce)}=`],
  ])('%s is none', (_, text) => expect(openBatch([one], text)).toBeUndefined())

  test('a batch token is no sealed field', () => {
    const sealed = sealBatch(one, 'x', nonce) as Sealed
    expect(() => openField([one], role, 'hmacKey', sealed)).toThrow()
  })
})

describe('values in the audit log', () => {
  test('the same value has the same HMAC, under the same key', () => {
    expect(auditHash(hmacKey, 'a')).toMatch(/^hmac-sha256:[0-9a-f]{64}$/)
    expect(auditHash(hmacKey, 'a')).toBe(auditHash(hmacKeyOf(Buffer.alloc(32, 1)), 'a'))
    expect(auditHash(hmacKey, 'a')).not.toBe(auditHash(hmacKey, 'b'))
    expect(auditHash(hmacKey, 'a')).not.toBe(auditHash(hmacKeyOf(Buffer.alloc(32, 2)), 'a'))
  })

  test('keys for different purposes differ, even of one data key', () => {
    const keys = [one.items, one.tokens, hmacKey]
    expect(new Set(keys.map(bytes => bytes.toString('hex'))).size).toBe(3)
    expect(keys.map(bytes => bytes.length)).toEqual([32, 32, 32])
  })
})
