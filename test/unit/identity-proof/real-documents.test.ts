import { describe, expect, test } from 'vitest'
import {
  type DocumentProofInput,
  readDocumentProof,
  verifyDocumentProof,
} from '../../../shared/identity-proof/instance-document.ts'
import { loadBuiltInKeys } from '../../../shared/identity-proof/trust.ts'
import y2017 from '../../vectors/identity-documents/us-west-1-2017.json' with { type: 'json' }
import y2021 from '../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }

/** Returns the verified document or the refusal. */
async function prove(input: DocumentProofInput, legacy: boolean) {
  const proof = readDocumentProof(input)
  return proof.ok ? verifyDocumentProof(proof.value, await loadBuiltInKeys(legacy), legacy) : proof
}

/** Returns `verified` or the rule that the document violates. */
async function judge(input: DocumentProofInput, legacy = false): Promise<string> {
  const found = await prove(input, legacy)
  return found.ok ? 'verified' : found.fault.why
}

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const identity = { identity: base64(y2017.document), signature: y2017.signature }

describe('documents signed by AWS', () => {
  test.each([
    ['2021, rsa2048', { pkcs7: y2021.rsa2048 }, 'verified', 'verified'],
    ['2017, pkcs7 (DSA, SHA-1)', { pkcs7: y2017.pkcs7 }, 'sha1', 'verified'],
    ['2017, identity and signature (RSA-1024)', identity, 'signature', 'verified'],
  ])('%s: $2; with legacy signatures: $3', async (_, input, byDefault, asLegacy) => {
    expect([await judge(input), await judge(input, true)]).toEqual([byDefault, asLegacy])
  })

  test.each([
    ['2021, rsa2048', { pkcs7: y2021.rsa2048 }, y2021.document],
    ['2017, pkcs7', { pkcs7: y2017.pkcs7 }, y2017.document],
    ['2017, identity and signature', identity, y2017.document],
  ])('the fields of %s, match its text', async (_, input, text) => {
    const { instanceId, imageId, accountId, region, pendingTime } = JSON.parse(text)
    const fields = { instanceId, imageId, accountId, region, pendingTime }
    expect(await prove(input, true)).toMatchObject({ value: fields })
  })

  test.each([
    ['as the metadata service wraps it', (text: string) => text.replace(/.{76}/g, '$&\n')],
    ['with carriage returns', (text: string) => text.replace(/.{64}/g, '$&\r\n')],
    ['in PKCS7 armour', (text: string) => `-----BEGIN PKCS7-----\n${text}\n-----END PKCS7-----\n`],
    ['in CMS armour', (text: string) => `-----BEGIN CMS-----\r\n${text}\r\n-----END CMS-----`],
  ])('the document of 2021 is accepted %s', async (_, write) => {
    expect(await judge({ pkcs7: write(y2021.rsa2048) })).toBe('verified')
  })
})

/** Number of end marks after the signature, which close indefinite lengths. */
const ENDS = 6

/** Returns the positions of a message, by their content, at which any change must be detected. */
function places(der: Buffer, text: string): Record<string, number> {
  const at = (hex: string, from = 0) => der.indexOf(Buffer.from(hex, 'hex'), from)
  const info = at('020101', at(Buffer.from(text).subarray(-8).toString('hex')))
  return {
    'content type of the message': at('2a864886f70d010702') + 8,
    'version of the message': at('020101') + 2,
    'content type of the content': at('2a864886f70d010701') + 8,
    'first byte of the document': der.indexOf(text.slice(0, 8)),
    'a digit of the instance ID': der.indexOf('"i-') + 5,
    'a digit of the account': der.indexOf('"accountId"') + 16,
    'a letter of the region': der.indexOf('"us-west-1"') + 6,
    'last byte of the document': der.indexOf(text.slice(-8)) + 7,
    'version of the signer': info + 2,
    'name of the issuer': at(Buffer.from('Seattle').toString('hex')) + 2,
    'serial number of the issuer': at('0209', info) + 10,
    'type of the content type attribute': at('2a864886f70d010903') + 8,
    'value of the content type attribute': at('2a864886f70d010701', info) + 8,
    'signing time': at('170d', info) + 4,
    'type of the digest attribute': at('2a864886f70d010904') + 8,
    'value of the digest attribute': at('2a864886f70d010904') + 15,
    'a byte of the signature': der.length - 40,
    'last byte of the signature': der.length - ENDS - 1,
  }
}

describe.each([
  ['2021', y2021.rsa2048, y2021.document, false],
  ['2017', y2017.pkcs7, y2017.document, true],
])('a changed byte is rejected: %s', (_, message, text, legacy) => {
  const der = Buffer.from(message, 'base64')
  test.each(Object.entries(places(der, text)))('%s', async (_, place) => {
    expect(place).toBeGreaterThan(5)
    const changed = Buffer.from(der)
    changed[place] = (changed[place] ?? 0) ^ 1
    expect(await judge({ pkcs7: base64(der) }, legacy)).toBe('verified')
    expect(await judge({ pkcs7: base64(changed) }, legacy)).not.toBe('verified')
  })

  test('any changed bit is rejected, except one that encodes the same algorithm', async () => {
    const trusted = await loadBuiltInKeys(legacy)
    const verified = (bytes: Buffer) => {
      const proof = readDocumentProof({ pkcs7: base64(bytes) })
      return proof.ok && verifyDocumentProof(proof.value, trusted, legacy).ok
    }
    const changes = Array.from({ length: der.length * 8 }, (_, bit) => [bit >> 3, 1 << (bit & 7)] as const)
    const tolerated = changes.filter(([place, mask]) => {
      const changed = Buffer.from(der)
      changed[place] = (changed[place] ?? 0) ^ mask
      return verified(changed)
    })
    // with a SHA-1 digest, dsa-with-sha1 and id-dsa are the same algorithm
    const dsaWithSha1 = der.indexOf(Buffer.from('06072a8648ce380403', 'hex'))
    expect(tolerated).toEqual(dsaWithSha1 < 0 ? [] : [[dsaWithSha1 + 8, 2]])
  }, 60_000)

  test('a removed or added byte is rejected', async () => {
    const broken = [der.subarray(1), der.subarray(0, -1), Buffer.concat([der, Buffer.alloc(1)])]
    for (const bytes of broken) expect(await judge({ pkcs7: base64(bytes) }, legacy)).toBe('not-signed-data')
  })
})

describe('a changed byte in identity or signature of the 2017 document is rejected', () => {
  const flip = (text: string | Buffer, place: number) => {
    const bytes = Buffer.from(text)
    bytes[place] = (bytes[place] ?? 0) ^ 1
    return base64(bytes)
  }
  const signature = Buffer.from(y2017.signature, 'base64')
  test.each([
    [
      'a digit of the instance ID',
      { ...identity, identity: flip(y2017.document, y2017.document.indexOf('"i-') + 5) },
    ],
    [
      'a digit of the account',
      { ...identity, identity: flip(y2017.document, y2017.document.indexOf('8074')) },
    ],
    ['the start of the signature', { ...identity, signature: flip(signature, 0) }],
    ['the end of the signature', { ...identity, signature: flip(signature, 127) }],
    ['a newline at the end of the document', { ...identity, identity: base64(`${y2017.document}\n`) }],
    ['no signature', { identity: identity.identity }],
    ['an empty signature', { ...identity, signature: '' }],
  ])('%s', async (_, input) => {
    expect(await judge(input, true)).toBe('signature')
  })

  test('a signature of one document form is rejected in the other', async () => {
    const bare = Buffer.from(y2017.pkcs7, 'base64').subarray(-47 - ENDS, -ENDS)
    expect(await judge({ ...identity, signature: base64(bare) }, true)).toBe('signature')
    expect(await judge({ pkcs7: identity.identity }, true)).toBe('not-signed-data')
  })
})
