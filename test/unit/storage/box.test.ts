import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openSealedBox, sealBoxForKey } from '../../../shared/storage/box.ts'
import { exportRawPublicKey, privateKeyFromSeed } from '../../../shared/values/raw-keys.ts'

const own = privateKeyFromSeed('X25519', randomBytes(32))
const place = { purpose: 'keyring', set: 'a set' } as const
const box = () => sealBoxForKey(exportRawPublicKey(own), place, 'what is inside', randomBytes)

describe('a box sealed to a public key', () => {
  test('the box opens with the private key of its recipient', () => {
    expect(openSealedBox(own, place, box())).toBe('what is inside')
  })

  test('sealing the same text again gives a different box', () => {
    expect(box()).not.toBe(box())
  })

  test('the box does not open with another key, purpose or set', () => {
    expect(openSealedBox(privateKeyFromSeed('X25519', randomBytes(32)), place, box())).toBeUndefined()
    expect(openSealedBox(own, { ...place, purpose: 'activation token' }, box())).toBeUndefined()
    expect(openSealedBox(own, { ...place, set: 'another set' }, box())).toBeUndefined()
  })

  test('the box does not open with a changed bit or a missing byte', () => {
    const bytes = Buffer.from(box(), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      // The highest bit of a raw X25519 key has no meaning in its standard, but it is part of the key derivation.
      changed.writeUInt8(bytes.readUInt8(at) ^ (at === 31 ? 0x80 : 1), at)
      expect(openSealedBox(own, place, changed.toString('base64url')), `byte ${at}`).toBeUndefined()
      expect(
        openSealedBox(own, place, bytes.subarray(0, at).toString('base64url')),
        `${at} bytes`,
      ).toBeUndefined()
    }
  })

  test.each(['', 'x', '!', ' '.repeat(80), 'a.b.c'])('%j is not a box', text => {
    expect(openSealedBox(own, place, text)).toBeUndefined()
  })

  test('a box cannot be sealed to a weak public key that yields no secret', () => {
    expect(() => sealBoxForKey(Buffer.alloc(32), place, 'x', randomBytes)).toThrow()
  })
})
