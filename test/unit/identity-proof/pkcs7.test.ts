import { hash, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  derOctets,
  derOid,
  derSequence,
  derSet,
  derTagged,
} from '../../../infra/local/provider/documents/der.ts'
import { verifySignedData } from '../../../shared/identity-proof/pkcs7.ts'
import { parseSignedData } from '../../../shared/identity-proof/signed-data.ts'
import type { TrustedKey } from '../../../shared/model/trusted-key.ts'
import { type KeyPair, keys } from '../../builders/keys.ts'
import {
  attribute,
  type Digest,
  frame,
  ids,
  nameOf,
  type SignerOptions,
  signedBy,
  signerInfo,
  trusted,
  usualAttributes,
} from '../../builders/signed-data.ts'

const content = Buffer.from('{"a document": true}')
const { privateKey, publicKey } = keys.rsa(2048)
const other = keys.rsa(2048, 'other')

function verdictOn(bytes: Buffer, list: readonly TrustedKey[], legacy = false) {
  const verdict = verifySignedData(parseSignedData(bytes) ?? expect.fail('not a SignedData'), list, legacy)
  return verdict.ok ? verdict.value : verdict.fault
}

const verdict = (signer: Partial<SignerOptions>, list = [trusted(publicKey)], legacy = false) =>
  verdictOn(signedBy(content, { key: privateKey, ...signer }), list, legacy)

describe('signature algorithms', () => {
  const rows: [string, KeyPair, Digest, string][] = [
    ['RSA with SHA-256', keys.rsa(2048), 'sha256', ids.rsaSha256],
    ['RSA with SHA-256, named by key and digest apart', keys.rsa(2048), 'sha256', ids.rsa],
    ['RSA with SHA-384', keys.rsa(2048), 'sha384', ids.rsaSha384],
    ['RSA with SHA-512', keys.rsa(3072), 'sha512', ids.rsaSha512],
    ['ECDSA on P-256 with SHA-256', keys.ec('P-256'), 'sha256', ids.ecdsaSha256],
    ['ECDSA on P-384 with SHA-384', keys.ec('P-384'), 'sha384', ids.ecdsaSha384],
    ['ECDSA on P-384 with SHA-512', keys.ec('P-384'), 'sha512', ids.ecdsaSha512],
  ]
  test.each(rows)(
    'a signature of type %s is accepted over attributes and over content',
    (_, pair, digest, signatureId) => {
      const list = [trusted(pair.publicKey)]
      const signer = { key: pair.privateKey, digest, signatureId }
      expect(verdict(signer, list)).toBe(list[0])
      expect(verdict({ ...signer, attributes: false }, list)).toBe(list[0])
    },
  )

  const old: [string, KeyPair, Digest, string, string][] = [
    ['DSA-1024 with SHA-1', keys.dsa(), 'sha1', ids.dsaSha1, 'sha1'],
    ['RSA-2048 with SHA-1', keys.rsa(2048), 'sha1', ids.rsaSha1, 'sha1'],
    ['RSA-1024 with SHA-256', keys.rsa(1024), 'sha256', ids.rsaSha256, 'weak-key'],
    ['DSA-1024 with SHA-256', keys.dsa(), 'sha256', ids.dsaSha256, 'weak-key'],
  ]
  test.each(old)(
    '%s is rejected unless legacy signatures are accepted',
    (_, pair, digest, signatureId, fault) => {
      const list = [trusted(pair.publicKey)]
      const signer = { key: pair.privateKey, digest, signatureId }
      expect(verdict(signer, list)).toBe(fault)
      expect(verdict(signer, list, true)).toBe(list[0])
    },
  )

  test('SHA-1 is reported as the fault even if the signer is unknown', () => {
    expect(verdict({ digest: 'sha1', signatureId: ids.rsaSha1 }, [])).toBe('sha1')
  })

  const kinds: [string, KeyObject, Digest, string][] = [
    ['an RSA key for ECDSA', publicKey, 'sha256', ids.ecdsaSha256],
    ['an RSA key for DSA', publicKey, 'sha256', ids.dsaSha256],
    ['a DSA key for RSA', keys.dsa().publicKey, 'sha256', ids.rsaSha256],
    ['an EC key for RSA', keys.ec().publicKey, 'sha256', ids.rsaSha256],
  ]
  test.each(kinds)('a key of type %s is rejected', (_, key, digest, signatureId) => {
    expect(verdict({ digest, signatureId }, [trusted(key)], true)).toBe('signature')
  })
})

describe("finding the signer's key", () => {
  test("a signer's key is found by issuer and serial number together", () => {
    expect(verdict({ serial: 8n })).toBe('unknown-signer')
    expect(verdict({ issuer: nameOf('somebody else') })).toBe('unknown-signer')
    expect(
      verdict({ issuer: nameOf('somebody else') }, [
        trusted(publicKey, { issuer: nameOf('somebody else').toString('hex') }),
      ]),
    ).not.toBe('unknown-signer')
    expect(verdict({}, [])).toBe('unknown-signer')
  })

  test("all keys with the signer's name are tried, because a registered one may replace a built-in one", () => {
    const list = [trusted(other.publicKey), trusted(keys.ec().publicKey), trusted(publicKey)]
    expect(verdict({}, list)).toBe(list[2])
  })

  test("a weak key with the signer's name does not exclude a strong one", () => {
    const list = [trusted(keys.rsa(1024).publicKey), trusted(publicKey)]
    expect(verdict({}, list)).toBe(list[1])
  })

  const good = signerInfo(content, { key: privateKey })
  test.each([
    ['unknown', signerInfo(content, { key: other.privateKey, serial: 9n }), 'unknown-signer'],
    ['wrong', signerInfo(content, { key: other.privateKey }), 'signature'],
    ['a signer of other content', signerInfo(Buffer.from('x'), { key: privateKey }), 'digest'],
  ])('a message with a valid signer is rejected if its second signer is %s', (_, bad, fault) => {
    expect(verdictOn(frame(content, [good, bad]), [trusted(publicKey)])).toBe(fault)
    expect(verdictOn(frame(content, [bad, good]), [trusted(publicKey)])).toBe(fault)
  })

  test('two valid signers are accepted', () => {
    const second = signerInfo(content, { key: other.privateKey, serial: 9n })
    const list = [trusted(publicKey), trusted(other.publicKey, { number: 9n })]
    expect(verdictOn(frame(content, [good, second]), list)).toBe(list[0])
  })

  test('a certificate inside the message is not trusted (CVE-2020-16251)', () => {
    const message = frame(content, [signerInfo(content, { key: other.privateKey })], {
      extras: [derTagged(0, derSequence())],
    })
    expect(verdictOn(message, [trusted(publicKey)])).toBe('signature')
  })
})

describe('signed content and attributes', () => {
  const attributesOf = usualAttributes('sha256')

  test('the digest attribute must match the content', () => {
    const attributes = () => attributesOf(Buffer.from('another content'))
    expect(verdict({ attributes })).toBe('digest')
    const digest = () => [attribute(ids.messageDigest, derOctets(hash('sha512', content, 'buffer')))]
    expect(verdict({ attributes: digest })).toBe('digest')
  })

  test('changed attributes are rejected', () => {
    const [type, , digest] = attributesOf(content) as [Buffer, Buffer, Buffer]
    expect(verdict({ sentAttributes: derTagged(0, type, digest) })).toBe('signature')
  })

  test('reordered attributes are rejected', () => {
    const reversed = attributesOf(content).toSorted(Buffer.compare).reverse()
    expect(verdict({ sentAttributes: derTagged(0, ...reversed) })).toBe('signature')
  })

  test('attributes without a content type are accepted', () => {
    const attributes = () => attributesOf(content).slice(1)
    expect(verdict({ attributes })).not.toBeTypeOf('string')
  })

  test('signed attributes presented as content are rejected', () => {
    const set = derSet(...attributesOf(content))
    const stolen = signerInfo(content, { key: privateKey })
    const signature = stolen.subarray(-256)
    const message = frame(set, [signerInfo(set, { key: privateKey, attributes: false, signature })])
    expect(verdictOn(message, [trusted(publicKey)])).toMatchObject({ origin: 'registered' })
    expect(parseSignedData(message)?.content).toEqual(set)
  })

  test.each([
    ['empty', Buffer.alloc(0)],
    ['one byte', Buffer.from([1])],
    ['of another key’s length', Buffer.alloc(128, 1)],
    ['all zeros', Buffer.alloc(256)],
    ['longer than the key', Buffer.alloc(257, 1)],
  ])('a signature that is %s is rejected without an internal error', (_, signature) => {
    expect(verdict({ signature })).toBe('signature')
    expect(verdict({ signature, signatureId: ids.ecdsaSha256 }, [trusted(keys.ec().publicKey)])).toBe(
      'signature',
    )
  })

  test('a signature by another key is rejected', () => {
    expect(verdict({ key: other.privateKey })).toBe('signature')
  })

  test('the digest identifier cannot select another digest', () => {
    expect(verdict({ attributes: () => [attribute(ids.messageDigest, derOctets(derOid(ids.sha256)))] })).toBe(
      'digest',
    )
  })
})
