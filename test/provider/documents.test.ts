import { createHash, verify, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type RunningProvider, startProvider } from '../../infra/local/provider/provider.ts'
import { at, type Ber, readBer } from './ber.ts'
import { account, region } from './clients.ts'

let provider: RunningProvider
let certificates: { rsa2048: string; rsa: string; dsa: string }
beforeAll(async () => {
  provider = await startProvider()
  certificates = await provider.control.authority()
  return () => provider.close()
})

const launch = () => provider.control.putInstance({ account, region, privateIp: '172.31.0.9' })
const bytesOf = (base64: string) => Buffer.from(base64, 'base64')

/** Returns the parts of a SignedData that a verifier visits. */
function readCms(base64: string) {
  const outer = readBer(bytesOf(base64))
  const data = at(outer, 1, 0)
  const info = at(data, 3, 0)
  return {
    outer,
    data,
    segments: at(data, 2, 1, 0).parts,
    octetString: at(data, 2, 1, 0),
    content: Buffer.concat(at(data, 2, 1, 0).parts.map(part => part.content)),
    issuer: at(info, 1, 0),
    serial: at(info, 1, 1).content,
    digestAlgorithm: at(info, 2),
    attributes: at(info, 3),
    signatureAlgorithm: at(info, 4),
    signature: at(info, 5).content,
  }
}

/** Returns attribute values by the last two arcs of their type. */
const attributesOf = (set: Ber) =>
  new Map(set.parts.map(part => [at(part, 0).content.subarray(-2).toString('hex'), at(part, 1, 0)]))

const forms = [
  ['rsa2048', 'sha256', 'RSA-SHA256'],
  ['pkcs7', 'sha1', 'sha1'],
] as const
const certificateOf = (form: 'rsa2048' | 'pkcs7') =>
  new X509Certificate(form === 'pkcs7' ? certificates.dsa : certificates.rsa2048)

describe('the identity document (facts of published documents)', () => {
  test('has keys, order and spacing of the metadata service, and no last newline', async () => {
    const instance = await launch()
    const { document } = await provider.control.documents(instance)
    expect(document).toBe(
      [
        '{',
        `  "accountId" : "${account}",`,
        '  "architecture" : "x86_64",',
        `  "availabilityZone" : "${region}a",`,
        '  "billingProducts" : null,',
        '  "devpayProductCodes" : null,',
        '  "marketplaceProductCodes" : null,',
        `  "imageId" : "${instance.imageId}",`,
        `  "instanceId" : "${instance.instanceId}",`,
        '  "instanceType" : "t3.micro",',
        '  "kernelId" : null,',
        `  "pendingTime" : "${instance.pendingTime}",`,
        '  "privateIp" : "172.31.0.9",',
        '  "ramdiskId" : null,',
        `  "region" : "${region}",`,
        '  "version" : "2017-09-30"',
        '}',
      ].join('\n'),
    )
  })
})

describe('the certificates', () => {
  test.each(['rsa2048', 'rsa', 'dsa'] as const)('%s is self-signed X.509 v3 of the right kind', name => {
    const certificate = new X509Certificate(certificates[name])
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.subject).toBe(certificate.issuer)
    expect(certificate.issuer.split('\n')).toEqual([
      'C=US',
      'ST=Washington State',
      'L=Seattle',
      'O=cloud-auth local provider',
    ])
    // [0] version 2 is v3. OpenSSL's `ca` also requires a keyUsage, which these certificates lack, as AWS's
    // certificates do.
    expect(certificate.raw.includes(Buffer.from('a003020102', 'hex'))).toBe(true)
    expect(certificate.ca).toBe(false)
    const bits = name === 'rsa2048' ? 2048 : 1024
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ modulusLength: bits })
    expect(certificate.publicKey.asymmetricKeyType).toBe(name === 'dsa' ? 'dsa' : 'rsa')
  })

  test('have different serial numbers, also from the certificates of another provider', async () => {
    const other = await startProvider()
    const all = [...Object.values(certificates), ...Object.values(await other.control.authority())]
    await other.close()
    expect(new Set(all.map(pem => new X509Certificate(pem).serialNumber)).size).toBe(6)
  })
})

describe('signature (identity + signature form)', () => {
  test('is a bare RSA-1024 SHA-256 signature of the text, wrapped at 76 columns', async () => {
    const { document, signature } = await provider.control.documents(await launch())
    const { publicKey } = new X509Certificate(certificates.rsa)
    expect(signature.split('\n').map(line => line.length)).toEqual([76, 76, 20])
    expect(verify('sha256', Buffer.from(document), publicKey, bytesOf(signature))).toBe(true)
    expect(verify('sha256', Buffer.from(`${document}\n`), publicKey, bytesOf(signature))).toBe(false)
  })
})

describe.each(forms)('%s (CMS)', (form, digest, algorithm) => {
  test('is base64 wrapped at 76 columns without armour', async () => {
    const lines = (await provider.control.documents(await launch()))[form].split('\n')
    expect(lines.slice(0, -1).every(line => line.length === 76)).toBe(true)
    expect(lines.join('')).toMatch(/^MIAGCSqGSIb3DQEHAqCA[\w+/]+=*$/)
  })

  test('has a valid signature over its attributes, which hold the digest of the embedded document', async () => {
    const documents = await provider.control.documents(await launch())
    const cms = readCms(documents[form])
    expect(cms.content.toString()).toBe(documents.document)
    const signed = Buffer.concat([Buffer.from([0x31]), cms.attributes.raw.subarray(1)])
    expect(verify(algorithm, signed, certificateOf(form).publicKey, cms.signature)).toBe(true)
    const attributes = attributesOf(cms.attributes)
    expect(attributes.get('0904')?.content).toEqual(createHash(digest).update(documents.document).digest())
    expect(attributes.get('0903')?.content).toEqual(Buffer.from('2a864886f70d010701', 'hex'))
    expect(attributes.get('0905')?.content.toString()).toMatch(/^\d{12}Z$/)
    // The attribute for algorithm protection (RFC 6211) contains the digest algorithm and, under [1], the
    // signature algorithm.
    expect(attributes.get('0934')?.raw.toString('hex')).toBe(
      form === 'pkcs7' ? undefined : '301c300b0609608648016503040201a10d06092a864886f70d01010b0500',
    )
    expect(at(cms.data, 2, 0).content).toEqual(attributes.get('0903')?.content)
  })

  test('signs attributes in DER order, so that re-tagging gives the signed bytes', async () => {
    const { attributes } = readCms((await provider.control.documents(await launch()))[form])
    const encoded = attributes.parts.map(part => part.raw)
    expect(encoded).toEqual(encoded.toSorted(Buffer.compare))
  })

  test('names its certificate by issuer and serial number, and embeds no certificate', async () => {
    const { issuer, serial, data } = readCms((await provider.control.documents(await launch()))[form])
    const certificate = certificateOf(form)
    expect(serial.toString('hex')).toBe(`00${certificate.serialNumber.toLowerCase()}`)
    expect(certificate.raw.includes(issuer.raw)).toBe(true)
    expect(data.parts.map(part => part.tag)).toEqual([0x02, 0x31, 0x30, 0x31])
  })

  test('leaves lengths open down to a constructed OCTET STRING', async () => {
    const { outer, data, octetString, segments } = readCms(
      (await provider.control.documents(await launch()))[form],
    )
    const open = [outer, at(outer, 1), data, at(data, 2), at(data, 2, 1), octetString]
    expect(open.map(value => value.indefinite)).toEqual(open.map(() => true))
    expect([octetString.tag, segments.map(part => part.tag)]).toEqual([0x24, [0x04]])
  })

  test('has the algorithm identifiers of real documents', async () => {
    const cms = readCms((await provider.control.documents(await launch()))[form])
    const wanted = {
      rsa2048: ['300b0609608648016503040201', '300d06092a864886f70d01010b0500'],
      pkcs7: ['300906052b0e03021a0500', '300906072a8648ce380403'],
    }
    expect([cms.digestAlgorithm.raw.toString('hex'), cms.signatureAlgorithm.raw.toString('hex')]).toEqual(
      wanted[form],
    )
  })
})

describe('signDocument', () => {
  test('signs any text in all forms, long texts in segments', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ minLength: 990, maxLength: 2100 }),
    )
    await fc.assert(
      fc.asyncProperty(text, async document => {
        const signed = await provider.control.signDocument({ document })
        expect(signed.document).toBe(document)
        const { publicKey } = new X509Certificate(certificates.rsa)
        expect(verify('sha256', Buffer.from(document), publicKey, bytesOf(signed.signature))).toBe(true)
        for (const [form, digest] of forms) {
          const cms = readCms(signed[form])
          expect(cms.content).toEqual(Buffer.from(document))
          expect(cms.segments.length).toBe(Math.ceil(cms.content.length / 1000))
          expect(attributesOf(cms.attributes).get('0904')?.content).toEqual(
            createHash(digest).update(document).digest(),
          )
        }
      }),
      { numRuns: 40 },
    )
  })
})

test('signing time follows the provider’s clock, and the document does not change with it', async () => {
  const instance = await launch()
  const before = await provider.control.documents(instance)
  await provider.control.advance({ seconds: 86_400 * 240 })
  const after = await provider.control.documents(instance)
  await provider.control.advance({ seconds: -86_400 * 240 })
  const timeOf = (base64: string) => attributesOf(readCms(base64).attributes).get('0905')?.content.toString()
  expect(after.document).toBe(before.document)
  expect(timeOf(after.rsa2048)).not.toBe(timeOf(before.rsa2048))
})

test('documents of a missing instance are refused', async () => {
  const failed = provider.control.documents({ account, region, instanceId: 'i-0' })
  await expect(failed).rejects.toThrow('i-0 does not exist')
})
