import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type CertifiedKey,
  createDocumentAuthority,
} from '../../../infra/local/provider/documents/authority.ts'
import { derTagged } from '../../../infra/local/provider/documents/der.ts'
import { frame, signerInfo } from '../../builders/signed-data.ts'
import { at, readBer } from '../../provider/ber.ts'
import { errorsOf, HOME, launch, noMessage, placeOf, UNPROVEN } from '../../support/requests/logins.ts'
import { api, aws, done, freshMount, localCertificate } from '../../support/service/cluster.ts'

/** Returns the issuer and serial number by which a signature names its signer. */
function namesOf(pem: string) {
  const { raw } = new X509Certificate(pem)
  const certified = at(readBer(raw), 0)
  return {
    raw,
    serial: BigInt(`0x${at(certified, 1).content.toString('hex')}`),
    issuer: at(certified, 3).raw,
  }
}

describe('only signatures of registered certificates are accepted: CVE-2020-16251, CVE-2025-6037, HCSEC-2025-18, GHSA-6c5r-4wfc-3mcx', () => {
  let document = Buffer.alloc(0)
  let registered = ''
  let foreign: CertifiedKey
  beforeAll(async () => {
    const [launched, authority] = [await launch(), await aws.authority()]
    document = Buffer.from((await aws.documents(placeOf(launched))).document)
    registered = authority.rsa2048
    foreign = (await createDocumentAuthority()).rsa2048
  })

  const mountWith = async (certificate: string) => {
    const { path } = await freshMount()
    await done('POST', `${path}/config/certificate/c`, { cloud_public_cert: certificate })
    await done('POST', `${path}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
    return path
  }
  const login = (mount: string, message: Buffer) =>
    api('POST', `${mount}/login`, { role: 'web', nonce: 'n', pkcs7: message.toString('base64') })

  /**
   * Returns an instance's document with a forged signature: a foreign key signs, `named` is the claimed
   * signer, and `sent` is the enclosed certificate.
   */
  const forged = (named: string, sent?: string): Buffer => {
    const { serial, issuer } = namesOf(named)
    const signer = signerInfo(document, { key: createPrivateKey(foreign.privateKey), serial, issuer })
    return frame(document, [signer], sent ? { extras: [derTagged(0, namesOf(sent).raw)] } : {})
  }

  const forgeries: [name: string, message: () => Buffer][] = [
    ['an unregistered signer', () => forged(foreign.certificate)],
    [
      'an unregistered signer that encloses its own certificate',
      () => forged(foreign.certificate, foreign.certificate),
    ],
    [
      'an unregistered signer that uses the issuer and serial of a registered certificate',
      () => forged(registered),
    ],
    [
      'a signer with a registered issuer and serial that encloses its own certificate',
      () => forged(registered, foreign.certificate),
    ],
    [
      'a signer with a registered issuer and serial that encloses the registered certificate',
      () => forged(registered, registered),
    ],
    [
      'a certificate and no signer',
      () => frame(document, [], { extras: [derTagged(0, namesOf(registered).raw)] }),
    ],
  ]
  test.each(forgeries)('a document signed by %s is rejected', async (_name, message) => {
    const mount = await mountWith(await localCertificate())
    const reply = await login(mount, message())
    const text =
      _name === 'a certificate and no signer'
        ? noMessage('is not a CMS SignedData structure that contains a document')
        : UNPROVEN
    expect([reply.status, errorsOf(reply)]).toEqual([400, text])
  })

  test("a document is rejected if its signer's certificate merely has the subject of a registered certificate", async () => {
    const [mine, theirs] = [foreign.certificate, registered].map(pem => new X509Certificate(pem))
    expect(mine?.subject).toBe(theirs?.subject)
    expect(mine?.publicKey.equals(theirs?.publicKey as KeyObject)).toBe(false)
    const mount = await mountWith(await localCertificate())
    expect((await login(mount, forged(foreign.certificate, registered))).status).toBe(400)
  })

  test("a document is accepted by a mount that has registered its signer's certificate", async () => {
    const mount = await mountWith(Buffer.from(foreign.certificate).toString('base64'))
    const reply = await login(mount, forged(foreign.certificate))
    expect(reply.status, reply.text).toBe(200)
  })
})
