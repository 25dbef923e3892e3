import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readLicence, requireDrReplication, requireUnexpiredLicence } from '../../../shared/api/licence.ts'
import { failed, ok } from '../../../shared/values/result.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'

const { publicKey, privateKey } = licenceKey()
const other = licenceKey()
const good = licenceText(privateKey, { nbf: 100, iat: 90, exp: 200 })
const licence = { id: 'l-1', features: ['DR Replication'], startsAt: 100, endsAt: 200 }

describe('reading a licence', () => {
  test('the result is the signed content', () => {
    expect(readLicence({ text: good, publicKey })).toEqual(ok(licence))
  })

  test('nbf or else iat is the start, and without both the licence is always valid', () => {
    const startOf = (claims: object) =>
      readLicence({ text: licenceText(privateKey, { ...claims }), publicKey })
    expect(startOf({ iat: 90 })).toMatchObject({ value: { startsAt: 90 } })
    expect(startOf({})).toMatchObject({ value: { startsAt: 0 } })
    expect(startOf({ jti: 7 })).toMatchObject({ value: { id: '' } })
  })

  const [header = '', claims = '', signature = ''] = good.split('.')
  const es = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  const changed = Buffer.from(JSON.stringify({ features: ['DR Replication'], exp: 9_999_999_999 })).toString(
    'base64url',
  )
  test.each<[name: string, text: string, key: string, fault: string]>([
    ['none', '', publicKey, 'this deployment has no licence'],
    ['two parts', `${header}.${claims}`, publicKey, 'the licence is not a signed token'],
    ['four parts', `${good}.x`, publicKey, 'the licence is not a signed token'],
    ['no signature', `${header}.${claims}.`, publicKey, 'the licence is not a signed token'],
    ['blanks', `${header}.${claims}.${signature} `, publicKey, 'the licence is not a signed token'],
    ['no key', good, '', 'licensePublicKey is not an Ed25519 public key'],
    ['nonsense for a key', good, 'AAAA', 'licensePublicKey is not an Ed25519 public key'],
    [
      'a key of another kind',
      good,
      es.export({ format: 'der', type: 'spki' }).toString('base64'),
      'licensePublicKey is not an Ed25519 public key',
    ],
    ['another key', good, other.publicKey, 'the licence’s signature does not match licensePublicKey'],
    [
      'other claims under the signature',
      `${header}.${changed}.${signature}`,
      publicKey,
      'the licence’s signature does not match licensePublicKey',
    ],
    [
      'no algorithm',
      licenceText(privateKey, {}, { alg: 'none' }),
      publicKey,
      'the licence must be signed with algorithm EdDSA',
    ],
    [
      'a header that is no JSON',
      `AAAA.${claims}.${signature}`,
      publicKey,
      'the licence must be signed with algorithm EdDSA',
    ],
    ['no end', licenceText(privateKey, { exp: undefined }), publicKey, 'the licence has no expiry'],
    ['an end in words', licenceText(privateKey, { exp: '9' }), publicKey, 'the licence has no expiry'],
    [
      'no features',
      licenceText(privateKey, { features: 'DR Replication' }),
      publicKey,
      'the licence names no features',
    ],
    [
      'features that are none',
      licenceText(privateKey, { features: [1] }),
      publicKey,
      'the licence names no features',
    ],
  ])('a licence with %s is rejected with the reason', (_, text, key, fault) =>
    expect(readLicence({ text, publicKey: key })).toEqual(failed(fault)),
  )
})

describe('licence rules of endpoints', () => {
  const at = (seconds: number) => seconds * 1000
  const of = (claims: object) => licenceText(privateKey, { nbf: 100, exp: 200, ...claims })
  const lasting = of({})
  const lacking = 'the licence does not name DR Replication'
  const early = 'the licence is not valid yet'
  test.each<
    [name: string, text: string, now: number, goesOn: string | undefined, begins: string | undefined]
  >([
    ['none', '', at(150), 'this deployment has no licence', 'this deployment has no licence'],
    ['another feature', of({ features: ['HSM'] }), at(150), lacking, lacking],
    ['not yet', lasting, at(100) - 1, early, early],
    ['from its first moment', lasting, at(100), undefined, undefined],
    ['until its last one', lasting, at(200) - 1, undefined, undefined],
    [
      'after its end nothing begins, and everything goes on',
      lasting,
      at(200),
      undefined,
      'the licence has expired',
    ],
  ])('%s', (_, text, now, goesOn, begins) => {
    expect(requireDrReplication({ text, publicKey }, now)).toBe(goesOn)
    expect(requireUnexpiredLicence({ text, publicKey }, now)).toBe(begins)
  })
})
