import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  compileCertificates,
  readPublishedCertificates,
} from '../../../shared/identity-proof/certificates/compile.ts'
import legacy from '../../../shared/identity-proof/certificates/legacy.json' with { type: 'json' }
import rsa2048 from '../../../shared/identity-proof/certificates/rsa2048.json' with { type: 'json' }
import { loadBuiltInKeys, readCertificateName, trustedKeysOf } from '../../../shared/identity-proof/trust.ts'
import { sha256 } from '../../../shared/values/secret.ts'
import vectors from '../../vectors/aws-certificates.json' with { type: 'json' }

const all = readPublishedCertificates()
const keySize = (key: X509Certificate['publicKey']) =>
  `${key.asymmetricKeyType?.toUpperCase()}-${key.asymmetricKeyDetails?.modulusLength}`

describe('the built-in AWS certificates', () => {
  test('the built-in certificates equal the certificates that AWS published, key by key', () => {
    const rows = all.map(({ region, kind, pem }) => {
      const certificate = new X509Certificate(pem)
      const spki = certificate.publicKey.export({ format: 'der', type: 'spki' })
      const [whole, key] = [sha256(certificate.raw), sha256(spki)].map(hash => hash.toString('hex'))
      return [region, kind, keySize(certificate.publicKey), whole, key?.slice(0, 16)]
    })
    expect(rows.length).toBe(116)
    expect(rows.map(row => row.join()).sort()).toEqual(vectors.certificates.map(row => row.join()).sort())
  })

  test('each certificate is signed by its own key', () => {
    const broken = all.filter(({ pem }) => {
      const certificate = new X509Certificate(pem)
      return !certificate.verify(certificate.publicKey)
    })
    expect(broken).toEqual([])
  })

  test('the compiled files match the certificates', () => {
    expect(rsa2048).toEqual(compileCertificates(['rsa2048']))
    expect(legacy).toEqual(compileCertificates(['dsa', 'rsa']))
  })

  test('the trust list contains every certificate with its name, key and region', async () => {
    const trusted = await loadBuiltInKeys(true)
    for (const { region, kind, pem } of all) {
      const certificate = new X509Certificate(pem)
      const { issuer, serial } = readCertificateName(certificate.raw)
      const found = trusted.filter(
        key =>
          key.origin === kind &&
          key.issuer === issuer &&
          key.serial === serial &&
          key.key().equals(certificate.publicKey),
      )
      expect([region, kind, found.length, found[0]?.regions?.includes(region)]).toEqual([
        region,
        kind,
        1,
        true,
      ])
    }
  })

  test('by default only rsa2048 is trusted, with one key per region', async () => {
    const trusted = await loadBuiltInKeys(false)
    expect(new Set(trusted.map(({ origin }) => origin))).toEqual(new Set(['rsa2048']))
    expect(trusted.map(({ regions }) => regions?.length)).toEqual(trusted.map(() => 1))
    const regions = trusted.flatMap(key => key.regions ?? [])
    expect(new Set(regions).size).toBe(39)
    expect(
      new Set(trusted.map(({ key }) => key().export({ format: 'der', type: 'spki' }).toString('hex'))).size,
    ).toBe(39)
    expect(trusted.every(({ key }) => keySizeOf(key()) === 'rsa 2048')).toBe(true)
  })

  test('legacy signatures add only dsa and rsa', async () => {
    const trusted = await loadBuiltInKeys(true)
    const kinds = Map.groupBy(trusted, ({ origin }) => origin)
    expect([...kinds.keys()].sort()).toEqual(['dsa', 'rsa', 'rsa2048'])
    expect(kinds.get('rsa')?.every(({ key }) => keySizeOf(key()) === 'rsa 1024')).toBe(true)
    expect(trustedKeysOf(legacy).length + trustedKeysOf(rsa2048).length).toBe(trusted.length)
  })
})

const keySizeOf = (key: X509Certificate['publicKey']) =>
  `${key.asymmetricKeyType} ${key.asymmetricKeyDetails?.modulusLength}`
