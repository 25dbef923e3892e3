import { diffieHellman, sign, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { exportRawPublicKey, privateKeyFromSeed, publicKeyFromRaw } from '../../../shared/values/raw-keys.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('keys from raw bytes', () => {
  test('Ed25519 signatures match RFC 8032 (test 2)', () => {
    const key = privateKeyFromSeed(
      'Ed25519',
      hex('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'),
    )
    expect(exportRawPublicKey(key)).toEqual(
      hex('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'),
    )
    const signature = sign(null, hex('72'), key)
    expect(signature).toEqual(
      hex(
        '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da' +
          '085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
      ),
    )
    expect(verify(null, hex('72'), publicKeyFromRaw('Ed25519', exportRawPublicKey(key)), signature)).toBe(
      true,
    )
  })

  test('X25519 agreement matches RFC 7748 (section 6.1)', () => {
    const own = privateKeyFromSeed(
      'X25519',
      hex('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb'),
    )
    expect(exportRawPublicKey(own)).toEqual(
      hex('de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f'),
    )
    const other = publicKeyFromRaw(
      'X25519',
      hex('8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a'),
    )
    expect(diffieHellman({ privateKey: own, publicKey: other })).toEqual(
      hex('4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742'),
    )
  })

  test('a recently used public key is cached by curve and bytes', () => {
    const raw = exportRawPublicKey(privateKeyFromSeed('Ed25519', Buffer.alloc(32, 5)))
    const key = publicKeyFromRaw('Ed25519', raw)
    expect(publicKeyFromRaw('Ed25519', Buffer.from(raw))).toBe(key)
    expect(publicKeyFromRaw('X25519', raw).asymmetricKeyType).toBe('x25519')
    for (let index = 0; index < 100; index++) publicKeyFromRaw('X25519', Buffer.alloc(32, index))
    expect(publicKeyFromRaw('Ed25519', raw)).not.toBe(key)
    expect(publicKeyFromRaw('Ed25519', raw).equals(key)).toBe(true)
  })

  test.each([0, 31, 33])('%i bytes are rejected as a key', length => {
    expect(() => publicKeyFromRaw('X25519', Buffer.alloc(length, 9))).toThrow()
    expect(() => privateKeyFromSeed('Ed25519', Buffer.alloc(length, 9))).toThrow()
  })
})
