import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  dsaSha1,
  rsaSha256,
  selfSignCertificate,
  toCertificatePem,
} from '../../../infra/local/provider/documents/certificate.ts'
import { derSequence } from '../../../infra/local/provider/documents/der.ts'
import { readPublishedCertificates } from '../../../shared/identity-proof/certificates/compile.ts'
import {
  readCertificateName,
  readRegisteredKey,
  trustedKeysOf,
} from '../../../shared/identity-proof/trust.ts'
import { keys } from '../../builders/keys.ts'

describe('readRegisteredKey', () => {
  test.each([
    ['RSA', keys.rsa(2048), rsaSha256],
    ['DSA', keys.dsa(), dsaSha1],
  ])('a registered %s certificate is trusted for every region', (_, { publicKey, privateKey }, scheme) => {
    const der = selfSignCertificate(publicKey, privateKey, scheme)
    const trusted = readRegisteredKey(toCertificatePem(der))
    expect(trusted).toMatchObject({ origin: 'registered', ...readCertificateName(der) })
    expect(trusted.regions).toBeUndefined()
    expect(trusted.key().equals(publicKey)).toBe(true)
  })

  test('validity dates are ignored: the expired certificate of 2014 is accepted', () => {
    const ended = readPublishedCertificates().find(
      ({ pem }) => new X509Certificate(pem).validToDate < new Date('2025-01-01'),
    )
    expect(readRegisteredKey(ended?.pem ?? '').key().asymmetricKeyDetails).toMatchObject({
      modulusLength: 1024,
    })
  })
})

describe('readCertificateName', () => {
  test.each(readPublishedCertificates().slice(0, 6))(
    'readCertificateName agrees with OpenSSL on $region $kind',
    ({ pem }) => {
      const certificate = new X509Certificate(pem)
      expect(BigInt(`0x${readCertificateName(certificate.raw).serial}`)).toBe(
        BigInt(`0x${certificate.serialNumber}`),
      )
      expect(
        certificate.raw.toString('hex').split(readCertificateName(certificate.raw).issuer).length,
      ).toBeGreaterThan(1)
    },
  )

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['an empty sequence', derSequence()],
    ['junk', Buffer.from('certificate')],
  ])('readCertificateName throws on %s', (_, bytes) => {
    expect(() => readCertificateName(bytes)).toThrow('not an X.509 certificate')
  })
})

describe('trustedKeysOf', () => {
  test('a key is decoded at its first use', () => {
    const [trusted] = trustedKeysOf({
      issuers: [''],
      keys: ['bm90IGEga2V5'],
      certificates: [{ kind: 'rsa2048', serial: '01', issuer: 0, key: 0, regions: ['eu-west-1'] }],
    })
    expect(trusted).toMatchObject({ origin: 'rsa2048', serial: '01', regions: ['eu-west-1'] })
    expect(() => trusted?.key()).toThrow()
  })

  test('each certificate has its own issuer and key', () => {
    const [a, b] = [keys.rsa(2048), keys.rsa(2048, 'other')].map(pair => pair.publicKey)
    const spki = [a, b].map(key => key?.export({ format: 'der', type: 'spki' }).toString('base64') ?? '')
    const list = trustedKeysOf({
      issuers: ['AAE=', 'AAI='],
      keys: spki,
      certificates: [
        { kind: 'rsa', serial: '01', issuer: 1, key: 0, regions: [] },
        { kind: 'dsa', serial: '02', issuer: 0, key: 1, regions: [] },
      ],
    })
    expect(list.map(({ origin, issuer }) => [origin, issuer])).toEqual([
      ['rsa', '0002'],
      ['dsa', '0001'],
    ])
    expect(list[0]?.key().equals(a ?? expect.fail())).toBe(true)
    expect(list[1]?.key().equals(b ?? expect.fail())).toBe(true)
  })
})
