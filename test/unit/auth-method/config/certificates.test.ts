import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  rsaSha256,
  selfSignCertificate,
  toCertificatePem,
} from '../../../../infra/local/provider/documents/certificate.ts'
import { derOid } from '../../../../infra/local/provider/documents/der.ts'
import { parsePemCertificate } from '../../../../shared/auth-method/config/certificates.ts'
import { readPublishedCertificates } from '../../../../shared/identity-proof/certificates/compile.ts'
import { inEachForm } from '../../../builders/base64-forms.ts'
import { keys } from '../../../builders/keys.ts'

const pem = readPublishedCertificates()[0]?.pem ?? ''
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('parsePemCertificate', () => {
  test.each([
    ['as it is', pem, pem],
    ['with carriage returns', pem.replaceAll('\n', '\r\n'), pem.replaceAll('\n', '\r\n')],
    ['with white space around', `\n\n${pem}\n \n`, `\n\n${pem}\n \n`],
    ['in base64', base64(pem), pem],
    ['indented', pem.replace(/^/gm, '  '), `${pem}\n`],
    ['with blanks where the lines ended', pem.replaceAll('\n', ' '), `${pem}\n`],
    ...inEachForm(base64(pem)).map(([form, text]) => [`in base64, ${form}`, text, pem]),
    ...inEachForm(base64(pem).replace(/=+$/, '')).map(([form, text]) => [
      `without padding, ${form}`,
      text,
      pem,
    ]),
    ['in base64 without padding, as Terraform writes it', base64(`${pem} `).replace(/=+$/, ''), `${pem} `],
  ])('parsePemCertificate reads a certificate %s', (_, given, expected) => {
    expect(parsePemCertificate(given)).toBe(expected)
  })

  const { publicKey, privateKey } = keys.rsa(2048)
  const unknownKey = () => {
    const der = selfSignCertificate(publicKey, privateKey, rsaSha256)
    const algorithm = derOid('1.2.840.113549.1.1.1')
    der.set(derOid('1.2.840.113549.1.9.9'), der.indexOf(algorithm))
    return toCertificatePem(der)
  }
  test.each([
    ['nothing', ''],
    ['text', 'certificate'],
    ['two blocks', `${pem}\n${pem}`],
    ['text before it', `x\n${pem}`],
    ['text after it', `${pem}\nx`],
    ['another kind of block', pem.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE')],
    ['a block of junk', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
    ['a key that OpenSSL does not know', unknownKey()],
    ['URL-safe base64', Buffer.from(`${pem}???`).toString('base64url')],
    ['a megabyte of padding', '='.repeat(1_000_000)],
    ['a megabyte of line breaks', `-----BEGIN CERTIFICATE-----${'\n'.repeat(1_000_000)}`],
  ])('%s is not a certificate', (_, given) => {
    expect(parsePemCertificate(given)).toBeUndefined()
  })

  test('the template with a known key is a valid certificate', () => {
    expect(new X509Certificate(unknownKey()).serialNumber).not.toBe('')
  })
})
