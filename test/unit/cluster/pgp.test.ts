import { config, generateKey, readKey, SignaturePacket } from 'openpgp'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { decodePgpPublicKey, encryptForPgpKey, pgpFingerprintOf } from '../../../shared/cluster/pgp.ts'
import { inEachForm } from '../../builders/base64-forms.ts'
import {
  costlyKey,
  mostSignatures,
  signatureWith,
  withSignatures,
} from '../../support/requests/costly-keys.ts'
import { hostileKey, keyBody, numbers, packet } from '../../support/requests/pgp.ts'
import { ceremonyWorld } from '../ceremony/support.ts'

vi.mock('openpgp', async original => {
  const library = await original<typeof import('openpgp')>()
  return { ...library, readKey: vi.fn(library.readKey) }
})

const computed = vi.mocked(readKey)
beforeEach(() => void computed.mockClear())

const oid = (hex: string) => Buffer.concat([Buffer.from([hex.length / 2]), Buffer.from(hex, 'hex')])
const key = (algorithm: number, ...material: Uint8Array[]) => packet(6, keyBody(algorithm, ...material))
const user = packet(13, Buffer.from('u'))
const rsa = key(1, numbers(2048, 17))
const p521 = key(19, oid('2b81040023'), numbers(1059))
const signatures = (count: number): Buffer[] => Array(count).fill(packet(2, signatureWith(Buffer.alloc(0))))
/** Makes `count` user IDs with `on` signatures each. */
const users = (count: number, on: number): Buffer[] =>
  Array(count).fill(Buffer.concat([user, ...signatures(on)]))

const refused: [title: string, bytes: Buffer, says: string][] = [
  ['a modulus and exponent of 16,384 bits', hostileKey(16_384, 16_384), '16384 bits'],
  ['a modulus and exponent of 65,528 bits', hostileKey(65_528, 65_528), '65528 bits'],
  ['a modulus that is one bit too long', key(1, numbers(8193, 17)), '8193 bits (limit 8192)'],
  ['an exponent that is one bit too long', key(1, numbers(2048, 33)), '33 bits (limit 32)'],
  [
    'a subkey with an exponent of 2048 bits',
    Buffer.concat([key(1, numbers(2048, 17)), packet(14, keyBody(1, numbers(2048, 2048)))]),
    '2048 bits (limit 32)',
  ],
  ['a DSA primary key', key(17, numbers(1024, 160, 1024, 1024)), 'a key of algorithm 17'],
  [
    'a DSA subkey',
    Buffer.concat([rsa, packet(14, keyBody(17, numbers(1024, 160, 1024, 1024)))]),
    'a key of algorithm 17',
  ],
  ['an ElGamal primary key', key(16, numbers(2048, 8, 2048)), 'a key of algorithm 16'],
  [
    'an ElGamal subkey',
    Buffer.concat([rsa, packet(14, keyBody(16, numbers(2048, 8, 2048)))]),
    'a key of algorithm 16',
  ],
  [
    'an X448 subkey',
    Buffer.concat([rsa, packet(14, keyBody(26, Buffer.alloc(56)))]),
    'a key of algorithm 26',
  ],
  ['an Ed448 primary key', key(28, Buffer.alloc(57)), 'a key of algorithm 28'],
  ['a key of 32,769 bytes', Buffer.concat([rsa, packet(13, Buffer.alloc(32_769 - rsa.length - 6))]), '32769'],
  [
    '5 signatures on a user id',
    Buffer.concat([rsa, user, ...signatures(5)]),
    'more than 4 signatures on one key, user id or attribute: export it without',
  ],
  ['5 signatures on the key itself', Buffer.concat([rsa, ...signatures(5)]), 'more than 4 signatures on one'],
  [
    '5 signatures on a user attribute',
    Buffer.concat([rsa, packet(17, Buffer.from([2, 1, 1])), ...signatures(5)]),
    'more than 4 signatures on one',
  ],
  [
    '5 signatures on a subkey',
    Buffer.concat([rsa, packet(14, keyBody(1, numbers(2048, 17))), ...signatures(5)]),
    'more than 4 signatures on one',
  ],
  ['25 signatures', Buffer.concat([rsa, ...users(9, 3)]), 'more than 24 signatures'],
  ['9 signatures, on P-521', Buffer.concat([p521, ...users(3, 3)]), 'more than 8 signatures'],
  ['an unknown curve', key(19, oid('2b8104000a'), numbers(515)), 'the curve of the key is not supported'],
  [
    'a curve without support in OpenSSL',
    key(18, oid('2b2403030208010107'), numbers(515)),
    'the curve of the key is not supported',
  ],
  ['a point that is too large', key(22, oid('2b06010401da470f01'), numbers(9000)), '9000 bits'],
  ['an unknown algorithm', key(99, numbers(8)), 'a key of algorithm 99'],
  ['an old version', packet(6, Buffer.from([3, 0, 0, 0, 0, 0, 0, 1])), 'version'],
  ['a private key', packet(5, keyBody(1, numbers(2048, 17))), 'does not belong in a public key'],
  ['a packet in parts', Buffer.from([0xc6, 0xe1, 4, 0, 1, 0]), 'split into parts'],
  ['a packet of unknown length', Buffer.from([0x9b, 4, 0]), 'unknown length'],
  ['a packet that is cut off', Buffer.from([0xc6, 0xff, 0xff, 0xff, 0xff, 0xff, 4]), 'cut off'],
  ['65 packets', Buffer.concat([rsa, ...Array(64).fill(user)]), '64 packets'],
  ['nothing', Buffer.alloc(0), 'empty'],
]

const armoured = (bytes: Buffer) =>
  `-----BEGIN PGP PUBLIC KEY BLOCK-----\nComment: x\n\n${bytes.toString('base64')}\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n`

describe('an OpenPGP key', () => {
  test.each(refused)('an OpenPGP key with %s is rejected before any arithmetic', async (_, bytes, says) => {
    for (const text of [bytes.toString('base64'), armoured(bytes)]) {
      const refusal = {
        code: 'invalid_request',
        message: expect.stringContaining(says),
      }
      await expect(pgpFingerprintOf(text, 'pgp_key')).rejects.toMatchObject(refusal)
      await expect(encryptForPgpKey(text, 'x', 'pgp_key')).rejects.toMatchObject(refusal)
    }
    expect(computed).not.toHaveBeenCalled()
  })

  test.each([
    { type: 'rsa', rsaBits: 2048 },
    { type: 'ecc', curve: 'nistP256' },
    { type: 'ecc', curve: 'nistP521' },
    { type: 'ecc', curve: 'ed25519Legacy' },
    { type: 'curve25519' },
    { type: 'curve25519', config: { v6Keys: true } },
  ] as const)('an ordinary OpenPGP key is accepted (%j), as base64 and armoured', async options => {
    const { publicKey } = await generateKey({
      ...options,
      userIDs: [{ name: 'h' }],
      format: 'object',
    })
    const bytes = Buffer.from(publicKey.write())
    for (const text of [
      bytes.toString('base64'),
      ...inEachForm(bytes.toString('base64')).map(([, form]) => form),
      publicKey.armor(),
      publicKey.armor().replaceAll('\n', '\r\n'),
      publicKey.armor().replace(/^/gm, '\t'),
      publicKey.armor().replaceAll('\n', ' '),
      armoured(bytes),
    ])
      expect(await pgpFingerprintOf(text, 'pgp_key')).toBe(publicKey.getFingerprint())
  })

  test.each([
    'not base64!',
    'mDMEZ_-A',
    '-----BEGIN PGP PUBLIC KEY BLOCK-----',
    armoured(user).replace('z', '?'),
  ])('the text %j is rejected as an OpenPGP key, with the allowed formats', async text => {
    await expect(pgpFingerprintOf(text, 'pgp_key')).rejects.toThrow(
      /^pgp_key is not a usable OpenPGP public key: the (key|text) is /,
    )
  })

  test('an OpenPGP key of the largest allowed sizes passes the size check', () => {
    for (const bytes of [
      key(1, numbers(8192, 32)),
      Buffer.concat([rsa, packet(13, Buffer.alloc(32_768 - rsa.length - 6))]),
      Buffer.concat([rsa, ...users(6, 4)]),
      Buffer.concat([p521, ...users(2, 4)]),
    ])
      expect(() => decodePgpPublicKey(bytes.toString('base64'), 'k')).not.toThrow()
  })

  test('a text longer than the largest OpenPGP key is rejected before it is decoded', () => {
    expect(() => decodePgpPublicKey('\n'.repeat(49_153), 'k')).toThrow('49153 characters (limit 49152)')
  })

  test.each(['NIST P-256', 'NIST P-521', 'Ed25519'] as const)(
    'a key of %s with the maximum number of signatures has each signature verified once, valid or not',
    async algorithm => {
      const made = await costlyKey(algorithm)
      const most = mostSignatures(algorithm)
      const verified = vi.spyOn(SignaturePacket.prototype, 'verify')
      onTestFinished(() => verified.mockRestore())
      for (const valid of [true, false]) {
        verified.mockClear()
        const bytes = withSignatures(made, { onOne: 2, all: most, valid })
        const outcome = encryptForPgpKey(bytes.toString('base64'), 'x', 'k')
        await (valid ? outcome : expect(outcome).rejects.toMatchObject({ code: 'invalid_request' }))
        const failed = await Promise.allSettled(verified.mock.results.map(one => one.value))
        expect(failed.filter(one => one.status === 'rejected')).toHaveLength(valid ? 0 : most - 1)
      }
    },
  )

  test('OpenSSL, and never JavaScript, processes the OpenPGP key', async () => {
    const made = await costlyKey('NIST P-256')
    config.useEllipticFallback = true
    await pgpFingerprintOf(Buffer.from(made.write()).toString('base64'), 'k')
    expect(config.useEllipticFallback).toBe(false)
  })
})

describe('a ceremony start with an OpenPGP key', () => {
  const given = async () => {
    const { publicKey } = await generateKey({
      type: 'curve25519',
      userIDs: [{ name: 'h' }],
      format: 'object',
    })
    return { pgp_key: Buffer.from(publicKey.write()).toString('base64') }
  }

  test('no arithmetic is done while the slot is taken or the rate limit is reached', async () => {
    const w = await ceremonyWorld(undefined, { of: 'operation' })
    const body = await given()
    await w.start()
    expect((await w.start(body)).status).toBe(400)
    await w.cancel()
    for (let starts = 1; starts < 10; starts++) {
      await w.start()
      await w.cancel()
    }
    expect((await w.start(body)).status).toBe(429)
    expect(computed).not.toHaveBeenCalled()
  })

  test("a start counts towards the rate limit if its verified key is unusable, but not if its key's size is rejected", async () => {
    const w = await ceremonyWorld(undefined, { of: 'operation' })
    const large = hostileKey(16_384, 16_384).toString('base64')
    for (let starts = 0; starts < 11; starts++) expect((await w.start({ pgp_key: large })).status).toBe(400)
    const forged = hostileKey(2048, 17).toString('base64')
    for (let starts = 0; starts < 10; starts++) expect((await w.start({ pgp_key: forged })).status).toBe(400)
    expect((await w.start({ pgp_key: forged })).status).toBe(429)
    expect(computed).toHaveBeenCalledTimes(10)
  })
})
