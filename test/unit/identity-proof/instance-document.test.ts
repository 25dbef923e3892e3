import { sign } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import {
  type DocumentProofInput,
  needsMoreKeys,
  readDocumentProof,
  verifyDocumentProof,
} from '../../../shared/identity-proof/instance-document.ts'
import type { TrustedKey } from '../../../shared/model/trusted-key.ts'
import { base64Forms, inEachForm } from '../../builders/base64-forms.ts'
import { documentText, usualDocument } from '../../builders/instance-document.ts'
import { type KeyPair, keys } from '../../builders/keys.ts'
import { ids, type SignerOptions, signedBy, trusted } from '../../builders/signed-data.ts'

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const key = keys.rsa(2048)

const pkcs7 = (text = documentText(), signer: Partial<SignerOptions> = {}): DocumentProofInput => ({
  pkcs7: base64(signedBy(Buffer.from(text), { key: key.privateKey, ...signer })),
})
const identity = (text = documentText(), { privateKey }: KeyPair = key): DocumentProofInput => ({
  identity: base64(text),
  signature: base64(sign('sha256', Buffer.from(text), privateKey)),
})

const why = (input: DocumentProofInput) => {
  const proof = readDocumentProof(input)
  return proof.ok ? proof.value.form : proof.fault.why
}

function prove(input: DocumentProofInput, list: TrustedKey[], legacy = false) {
  const proof = readDocumentProof(input)
  return proof.ok ? verifyDocumentProof(proof.value, list, legacy) : proof
}

function judge(input: DocumentProofInput, list: TrustedKey[], legacy = false): string {
  const found = prove(input, list, legacy)
  return found.ok ? 'verified' : found.fault.why
}

describe('parsing a proof', () => {
  const both = { ...pkcs7(), ...identity() }
  test.each<[string, DocumentProofInput, string]>([
    ['nothing', {}, 'proof-missing'],
    ['three empty texts', { pkcs7: '', identity: '', signature: '' }, 'proof-missing'],
    ['pkcs7', pkcs7(), 'pkcs7'],
    ['pkcs7 with empty others', { ...pkcs7(), identity: '', signature: '' }, 'pkcs7'],
    ['pkcs7 with one of the others', { ...both, signature: '' }, 'pkcs7'],
    ['pkcs7 with both others', both, 'proof-ambiguous'],
    ['identity and signature', identity(), 'identity'],
    ['a signature alone', { signature: identity().signature ?? '' }, 'identity-encoding'],
    ['an identity of no bytes', { ...identity(), identity: ' \n' }, 'identity-encoding'],
    ['an identity that is no base64', { ...identity(), identity: '{}' }, 'identity-encoding'],
    ['a signature that is no base64', { ...identity(), signature: '!!!!' }, 'signature-encoding'],
    ['URL-safe base64', { ...identity(), signature: '__8=' }, 'signature-encoding'],
    ['base64 without padding', { ...identity(), signature: 'AAA' }, 'signature-encoding'],
  ])('%s: $2', (_, input, expected) => {
    expect(why(input)).toBe(expected)
  })

  test.each(Object.entries(base64Forms))(
    'identity and signature are accepted in the base64 form: %s',
    (_, write) => {
      const { identity: document = '', signature = '' } = identity()
      const spaced = { identity: write(document), signature: write(signature) }
      expect(judge(spaced, [trusted(key.publicKey)])).toBe('verified')
    },
  )
})

describe('parsing the pkcs7 parameter', () => {
  const text = pkcs7().pkcs7 ?? ''
  test.each([
    ['bare', text, 'pkcs7'],
    ['in lines', text.replace(/.{64}/g, '$&\n'), 'pkcs7'],
    ['in armour', `-----BEGIN PKCS7-----\n${text}\n-----END PKCS7-----`, 'pkcs7'],
    [
      'in armour of another name',
      `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`,
      'not-signed-data',
    ],
    ['in armour of two names', `-----BEGIN PKCS7-----\n${text}\n-----END CMS-----`, 'not-signed-data'],
    [
      'with text after the armour',
      `-----BEGIN PKCS7-----\n${text}\n-----END PKCS7-----\nx`,
      'not-signed-data',
    ],
    [
      'with text before the armour',
      `x\n-----BEGIN PKCS7-----\n${text}\n-----END PKCS7-----`,
      'not-signed-data',
    ],
    [
      'in two armours',
      `-----BEGIN PKCS7-----\n${text}\n-----END PKCS7-----\n-----BEGIN PKCS7-----\n${text}\n-----END PKCS7-----`,
      'not-signed-data',
    ],
    ['with written-out newlines', text.replace(/.{64}/g, '$&\\n'), 'not-signed-data'],
    ...inEachForm(text).flatMap(([form, value]): [string, string, string][] => [
      [form, value, 'pkcs7'],
      [`${form}, in armour`, `-----BEGIN PKCS7-----\n${value}\n-----END PKCS7-----\n`, 'pkcs7'],
    ]),
    ['that is no base64', 'MIAG%%', 'not-signed-data'],
    ['that is a certificate’s base64', base64('0'), 'not-signed-data'],
  ])('%s: $2', (_, value, expected) => {
    expect(why({ pkcs7: value })).toBe(expected)
  })
})

test.each([
  [
    'an HTML page',
    '<!DOCTYPE html><html></html>',
    'is a page in HTML or XML, such as an error of the metadata service or of a proxy',
  ],
  ['encoded twice', base64(pkcs7().pkcs7 ?? ''), 'is encoded in base64 twice'],
  [
    'encoded twice, in lines',
    base64((pkcs7().pkcs7 ?? '').replace(/.{64}/g, '$&\n')),
    'is encoded in base64 twice',
  ],
  ['base64 that is cut off', (pkcs7().pkcs7 ?? '').slice(0, 101), 'is not base64, or is cut off'],
  ['a message that is cut off', (pkcs7().pkcs7 ?? '').slice(0, 100), 'is cut off'],
  ['a message without its end', 'MIAG', 'is cut off'],
  ['an element of another kind', 'BAA=', 'is not a CMS SignedData structure that contains a document'],
  ['one byte', 'MA==', 'is cut off'],
  ['nothing but blanks', ' ', 'is not a CMS SignedData structure that contains a document'],
])('an unreadable pkcs7 is rejected with its fault: %s', (_, text, fault) => {
  const refusal = {
    code: 'invalid_request',
    why: 'not-signed-data',
    text: `pkcs7 ${fault}; send the rsa2048 document exactly as the metadata service returns it`,
  }
  expect(readDocumentProof({ pkcs7: text })).toEqual({ ok: false, fault: refusal })
})

describe('failed verifications', () => {
  const list = [trusted(key.publicKey)]
  const sha1 = { digest: 'sha1', signatureId: ids.rsaSha1 } as const
  const weak = keys.rsa(1024)
  const far = [trusted(key.publicKey, { origin: 'rsa2048', regions: ['us-east-1'] })]
  test.each<[string, DocumentProofInput, TrustedKey[], string]>([
    ['by a signer nobody knows', pkcs7(documentText(), { serial: 8n }), list, 'unknown-signer'],
    ['with SHA-1', pkcs7(documentText(), sha1), list, 'sha1'],
    ['with a weak key', pkcs7(undefined, { key: weak.privateKey }), [trusted(weak.publicKey)], 'weak-key'],
    ['by the key of another region', pkcs7(), far, 'unknown-signer'],
    ['in the identity form', identity(undefined, keys.rsa(1024)), list, 'signature'],
    ['by the key of another region, in the identity form', identity(), far, 'signature'],
    ['around what is no document', pkcs7('{', { serial: 8n }), list, 'unknown-signer'],
  ])('%s gives one text that names the accepted documents', (_, input, trust, reason) => {
    const fault = {
      code: 'invalid_request',
      why: reason,
      text:
        'the signature of the identity document could not be verified; use the rsa2048 document as pkcs7, ' +
        'or identity with signature or another document for which a certificate is registered',
    }
    expect(prove(input, trust)).toEqual({ ok: false, fault })
  })

  test.each([
    ['pkcs7', pkcs7('{not JSON', { serial: 8n })],
    ['identity', identity('{not JSON', keys.rsa(1024))],
  ])('the signature is checked before the content is parsed: %s', (_, input) => {
    const read = readDocumentProof(input)
    if (!read.ok) throw new Error(read.fault.why)
    const proof = read.value
    const content = proof.form === 'pkcs7' ? proof.message.content : proof.bytes
    const decoded = vi.spyOn(content, 'toString')
    expect(verifyDocumentProof(proof, list, false)).toMatchObject({
      fault: { why: expect.not.stringMatching('document') },
    })
    expect(decoded).not.toHaveBeenCalled()
  })
})

describe('keys by document form and region', () => {
  const here = usualDocument.region
  const rsa1024 = keys.rsa(1024)
  const dsa = keys.dsa()
  const dsaSigned = pkcs7(documentText(), { key: dsa.privateKey, digest: 'sha1', signatureId: ids.dsaSha1 })
  const rows: [string, DocumentProofInput, KeyPair, Partial<TrustedKey>, string, string][] = [
    ['rsa2048 of its region', pkcs7(), key, { origin: 'rsa2048', regions: [here] }, 'verified', 'verified'],
    [
      'rsa2048 of another region',
      pkcs7(),
      key,
      { origin: 'rsa2048', regions: ['us-east-1'] },
      'unknown-signer',
      'unknown-signer',
    ],
    [
      'rsa2048 of no region',
      pkcs7(),
      key,
      { origin: 'rsa2048', regions: [] },
      'unknown-signer',
      'unknown-signer',
    ],
    ['registered, of any region', pkcs7(), key, {}, 'verified', 'verified'],
    [
      'dsa of its region',
      dsaSigned,
      dsa,
      { origin: 'dsa', regions: [here, 'us-east-1'] },
      'sha1',
      'verified',
    ],
    [
      'dsa of another region',
      dsaSigned,
      dsa,
      { origin: 'dsa', regions: ['us-east-1'] },
      'sha1',
      'unknown-signer',
    ],
    ['registered dsa', dsaSigned, dsa, {}, 'sha1', 'verified'],
    [
      'rsa for pkcs7',
      pkcs7(documentText(), { key: rsa1024.privateKey }),
      rsa1024,
      { origin: 'rsa', regions: [here] },
      'unknown-signer',
      'unknown-signer',
    ],
    [
      'registered RSA-1024 for pkcs7',
      pkcs7(documentText(), { key: rsa1024.privateKey }),
      rsa1024,
      {},
      'weak-key',
      'verified',
    ],
    [
      'rsa for identity',
      identity(undefined, rsa1024),
      rsa1024,
      { origin: 'rsa', regions: [here] },
      'verified',
      'verified',
    ],
    [
      'rsa for identity of another region',
      identity(undefined, rsa1024),
      rsa1024,
      { origin: 'rsa', regions: ['us-east-1'] },
      'signature',
      'signature',
    ],
    ['rsa2048 for identity', identity(), key, { origin: 'rsa2048', regions: [here] }, 'verified', 'verified'],
    [
      'an RSA key of the kind dsa for identity',
      identity(),
      key,
      { origin: 'dsa', regions: [here] },
      'signature',
      'signature',
    ],
    ['registered RSA-1024 for identity', identity(undefined, rsa1024), rsa1024, {}, 'verified', 'verified'],
    ['registered EC for identity', identity(undefined, keys.ec()), keys.ec(), {}, 'signature', 'signature'],
  ]
  test.each(rows)(
    '%s: $4; with legacy signatures: $5',
    (_, input, { publicKey }, options, byDefault, asLegacy) => {
      const list = [trusted(publicKey, options)]
      expect([judge(input, list), judge(input, list, true)]).toEqual([byDefault, asLegacy])
    },
  )

  test('a key of another region is skipped if a matching one follows', () => {
    const elsewhere = trusted(key.publicKey, { origin: 'rsa2048', regions: ['us-east-1'] })
    expect(judge(pkcs7(), [elsewhere, trusted(key.publicKey)])).toBe('verified')
    expect(judge(identity(), [elsewhere, trusted(keys.rsa(1024).publicKey), trusted(key.publicKey)])).toBe(
      'verified',
    )
  })

  test.each([
    ['unknown-signer', true],
    ['signature', true],
    ['weak-key', true],
    ['digest', false],
    ['sha1', false],
    ['document', false],
  ])('a registered certificate may resolve the fault %s: %s', (reason, turns) => {
    expect(needsMoreKeys({ code: 'invalid_request', why: reason, text: '' })).toBe(turns)
  })
})

describe('signatures over other content', () => {
  test('a signature over content that is not a document is rejected (CVE-2020-16251)', () => {
    expect(judge(pkcs7('{"iss":"somebody"}'), [trusted(key.publicKey)])).toBe('document')
    expect(judge(identity('hello'), [trusted(key.publicKey)])).toBe('document')
  })
})
