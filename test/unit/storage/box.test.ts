import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openBox, sealBox } from '../../../shared/storage/box.ts'
import { privateKey, rawPublicKey } from '../../../shared/values/raw-keys.ts'

const own = privateKey('X25519', randomBytes(32))
const place = { purpose: 'keyring', set: 'a set' } as const
const box = () => sealBox(rawPublicKey(own), place, 'what is inside', randomBytes)

describe('a box', () => {
  test('opens by the private half of the key that it was sealed to', () => {
    expect(openBox(own, place, box())).toBe('what is inside')
  })

  test('is another one each time', () => {
    expect(box()).not.toBe(box())
  })

  test('opens by no other key, for no other purpose, for no other set', () => {
    expect(openBox(privateKey('X25519', randomBytes(32)), place, box())).toBeUndefined()
    expect(openBox(own, { ...place, purpose: 'activation token' }, box())).toBeUndefined()
    expect(openBox(own, { ...place, set: 'another set' }, box())).toBeUndefined()
  })

  test('does not open when one bit of it is changed, or a byte is missing', () => {
    const bytes = Buffer.from(box(), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      // the highest bit of a raw X25519 key means nothing by its standard, but is part of what the key follows from
      changed.writeUInt8(bytes.readUInt8(at) ^ (at === 31 ? 0x80 : 1), at)
      expect(openBox(own, place, changed.toString('base64url')), `byte ${at}`).toBeUndefined()
      expect(openBox(own, place, bytes.subarray(0, at).toString('base64url')), `${at} bytes`).toBeUndefined()
    }
  })

  test.each(['', 'x', '!', ' '.repeat(80), 'a.b.c'])('%j is none', text => {
    expect(openBox(own, place, text)).toBeUndefined()
  })

  test('is not made for a key with which nothing is secret', () => {
    expect(() => sealBox(Buffer.alloc(32), place, 'x', randomBytes)).toThrow()
  })
})
