import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  derInteger,
  derNull,
  derOctets,
  derOid,
  derSequence,
  derSet,
  derTagged,
  encodeDerTlv,
  encodeIndefiniteBer,
} from '../../../infra/local/provider/documents/der.ts'
import { parseSignedData } from '../../../shared/identity-proof/signed-data.ts'
import { keys } from '../../builders/keys.ts'
import {
  algorithm,
  attribute,
  contentInfo,
  type FrameOptions,
  frame,
  ids,
  issuer,
  type SignerOptions,
  signedBy,
  signerInfo,
  usualAttributes,
} from '../../builders/signed-data.ts'

const key = keys.rsa(2048).privateKey
const content = Buffer.from('a document')
const made = (signer: Partial<SignerOptions> = {}, outside: FrameOptions = {}) =>
  parseSignedData(signedBy(content, { key, ...signer }, outside))

const [typeAttribute, timeAttribute, digestAttribute] = usualAttributes('sha256')(content) as [
  Buffer,
  Buffer,
  Buffer,
]

describe('parseSignedData', () => {
  test('parseSignedData returns content and signer', () => {
    expect(made({ serial: 9n })).toMatchObject({
      content,
      signers: [
        { issuer, serial: Buffer.from([9]), algorithm: { digest: { name: 'sha256' }, key: { type: 'rsa' } } },
      ],
    })
  })

  test.each([
    ['certificates', [derTagged(0, derSequence(derInteger(1n)))]],
    ['revocation lists', [derTagged(1, derSequence(derInteger(1n)))]],
    ['both', [derTagged(0), derTagged(1)]],
  ])('embedded %s are ignored', (_, extras) => {
    expect(made({}, { extras })).toEqual(made())
  })

  test('split content with indefinite lengths is joined', () => {
    const pieces = encodeIndefiniteBer(
      0x24,
      derOctets(content.subarray(0, 3)),
      derOctets(content.subarray(3)),
    )
    const open = encodeIndefiniteBer(0x30, derOid(ids.data), encodeIndefiniteBer(0xa0, pieces))
    expect(made({}, { contentInfo: open })).toEqual(made())
  })

  test('attributes with padded lengths are returned as signed', () => {
    const written = encodeIndefiniteBer(
      0xa0,
      encodeIndefiniteBer(0x30, derOid(ids.contentType), derSet(derOid(ids.data))),
      timeAttribute,
      digestAttribute,
    )
    const usual = made()?.signers[0]?.attributes?.signed
    expect(made({ sentAttributes: written })?.signers[0]?.attributes?.signed).toEqual(usual)
  })

  test('the issuer is returned in DER, whatever its length encoding', () => {
    const open = encodeIndefiniteBer(0x30, issuer.subarray(2))
    expect(made({ issuer: open })?.signers[0]?.issuer).toEqual(issuer)
  })

  test.each<[string, FrameOptions]>([
    ['another content type than signedData', { type: ids.data }],
    ['version 0', { version: derInteger(0n) }],
    ['version 3', { version: derInteger(3n) }],
    ['a version that is not an integer', { version: derOctets(Buffer.from([1])) }],
    ['no digest algorithms', { digestAlgorithms: derSet() }],
    ['other digest algorithms than the signer’s', { digestAlgorithms: derSet(algorithm(ids.sha512)) }],
    ['digest algorithms outside a set', { digestAlgorithms: algorithm(ids.sha256) }],
    ['content of another type than data', { contentInfo: contentInfo(content, ids.signedData) }],
    ['detached content', { contentInfo: derSequence(derOid(ids.data)) }],
    ['empty content', { contentInfo: contentInfo(Buffer.alloc(0)) }],
    [
      'content that is not an octet string',
      { contentInfo: derSequence(derOid(ids.data), derTagged(0, derInteger(1n))) },
    ],
    [
      'two contents',
      { contentInfo: derSequence(derOid(ids.data), derTagged(0, derOctets(content), derOctets(content))) },
    ],
    ['content under [1]', { contentInfo: derSequence(derOid(ids.data), derTagged(1, derOctets(content))) }],
    [
      'extra data after the content',
      { contentInfo: derSequence(derOid(ids.data), derTagged(0, derOctets(content)), derNull()) },
    ],
    [
      'no signers: a certificates-only structure',
      { signerInfos: derSet(), extras: [derTagged(0, derSequence())] },
    ],
    ['signers outside a set', { signerInfos: derSequence(signerInfo(content, { key })) }],
    ['unknown data before the signers', { extras: [derNull()] }],
    ['certificates twice', { extras: [derTagged(0), derTagged(0)] }],
    ['revocation lists before certificates', { extras: [derTagged(1), derTagged(0)] }],
    ['extra data after the signers', { more: [derNull()] }],
    ['a second set of signers', { more: [derSet(signerInfo(content, { key }))] }],
    ['extra data next to the SignedData', { beside: [derNull()] }],
    ['a second SignedData', { beside: [derSequence()] }],
    ['extra data at the end', { last: [derNull()] }],
  ])('a structure with %s is rejected', (_, outside) => {
    expect(made({}, outside)).toBeUndefined()
  })

  test.each<[string, Partial<SignerOptions>]>([
    ['version 0', { version: 0n }],
    ['version 3, which uses key identifiers', { version: 3n }],
    [
      'a digest algorithm that is not a digest',
      { digest: 'rsa' as never, attributes: false, signature: content },
    ],
    ['an unknown signature algorithm', { signatureId: '1.2.840.113549.1.1.4' }],
    ['a signature for another digest than the one named', { signatureId: ids.rsaSha384 }],
    ['extra data after the signature', { more: [derNull()] }],
    ['two sets of unsigned attributes', { more: [derTagged(1), derTagged(1)] }],
    ['no digest among the attributes', { sentAttributes: derTagged(0, typeAttribute, timeAttribute) }],
    ['no attributes at all under [0]', { sentAttributes: derTagged(0) }],
    ['two digests', { sentAttributes: derTagged(0, digestAttribute, digestAttribute) }],
    [
      'a digest of two values',
      {
        sentAttributes: derTagged(
          0,
          derSequence(derOid(ids.messageDigest), encodeDerTlv(0x31, derOctets(content), derOctets(content))),
        ),
      },
    ],
    ['a digest of no value', { sentAttributes: derTagged(0, attribute(ids.messageDigest)) }],
    [
      'a digest that is not an octet string',
      { sentAttributes: derTagged(0, attribute(ids.messageDigest, derInteger(1n))) },
    ],
    [
      'a digest in a sequence rather than a set',
      {
        sentAttributes: derTagged(0, derSequence(derOid(ids.messageDigest), derSequence(derOctets(content)))),
      },
    ],
    [
      'a second content type',
      { sentAttributes: derTagged(0, typeAttribute, typeAttribute, digestAttribute) },
    ],
    [
      'another content type than data',
      { sentAttributes: derTagged(0, attribute(ids.contentType, derOid(ids.signedData)), digestAttribute) },
    ],
    ['an attribute without type', { sentAttributes: derTagged(0, digestAttribute, derSequence()) }],
    [
      'an attribute of three parts',
      { sentAttributes: derTagged(0, digestAttribute, derSequence(derOid(ids.data), derSet(), derSet())) },
    ],
  ])('a signer with %s is rejected', (_, signer) => {
    expect(made(signer)).toBeUndefined()
  })

  test('unsigned attributes are ignored', () => {
    expect(made({ more: [derTagged(1, derSequence(derOid(ids.data), derSet()))] })).toEqual(made())
  })

  test.each([
    [
      'a name of one part',
      [derInteger(1n), derSequence(issuer), algorithm(ids.sha256), algorithm(ids.rsa), derOctets(content)],
    ],
    [
      'a name of three parts',
      [
        derInteger(1n),
        derSequence(issuer, derInteger(7n), derNull()),
        algorithm(ids.sha256),
        algorithm(ids.rsa),
        derOctets(content),
      ],
    ],
    [
      'a key identifier for a name',
      [
        derInteger(1n),
        encodeDerTlv(0x80, content),
        algorithm(ids.sha256),
        algorithm(ids.rsa),
        derOctets(content),
      ],
    ],
    [
      'parameters of its digest',
      [
        derInteger(1n),
        derSequence(issuer, derInteger(7n)),
        algorithm(ids.sha256, derInteger(1n)),
        algorithm(ids.rsa),
        derOctets(content),
      ],
    ],
    [
      'two parameters of its algorithm',
      [
        derInteger(1n),
        derSequence(issuer, derInteger(7n)),
        algorithm(ids.sha256),
        algorithm(ids.rsa, derNull(), derNull()),
        derOctets(content),
      ],
    ],
    [
      'no signature',
      [derInteger(1n), derSequence(issuer, derInteger(7n)), algorithm(ids.sha256), algorithm(ids.rsa)],
    ],
  ])('a signer with an invalid algorithm or attribute is rejected: %s', (_, parts) => {
    expect(parseSignedData(frame(content, [derSequence(...parts)]))).toBeUndefined()
  })

  test('a message with one unreadable signer is rejected', () => {
    const good = signerInfo(content, { key })
    expect(parseSignedData(frame(content, [good, derSequence()]))).toBeUndefined()
    expect(parseSignedData(frame(content, [encodeDerTlv(0x30, good.subarray(4))]))).toBeDefined()
    expect(parseSignedData(frame(content, [encodeDerTlv(0x31, good.subarray(4))]))).toBeUndefined()
  })

  test.each([
    ['extra bytes at its end', Buffer.concat([signedBy(content, { key }), Buffer.from([0])])],
    ['its last byte missing', signedBy(content, { key }).subarray(0, -1)],
    ['more than 64 KiB', signedBy(Buffer.alloc(65_536, 'x'), { key })],
  ])('a message with %s is rejected', (_, bytes) => {
    expect(parseSignedData(bytes)).toBeUndefined()
  })

  test('parseSignedData never throws on changed or truncated bytes', () => {
    const good = signedBy(content, { key })
    const at = fc.nat(good.length - 1)
    fc.assert(
      fc.property(at, fc.nat(255), at, (place, byte, end) => {
        const bytes = Buffer.from(good)
        bytes[place] = byte
        parseSignedData(bytes)
        parseSignedData(bytes.subarray(0, end))
      }),
    )
  })
})
