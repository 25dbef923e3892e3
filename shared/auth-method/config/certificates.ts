import { X509Certificate } from 'node:crypto'
import { answer, answerAfterChanges, type Call, type CallOutcome, dataAnswer } from '../../api/call.ts'
import { invalidRequestError } from '../../api/errors.ts'
import { lowerTextField, textField } from '../../api/fields.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import { isRegistrableKey } from '../../identity-proof/signature-algorithms.ts'
import { replaceItem } from '../../storage/changes.ts'
import { readBase64, removeWhitespace } from '../../values/base64.ts'

export const certificateFields = {
  cloud_public_cert: textField('Certificate as base64 of its PEM text, or the PEM text itself', {
    formerly: 'aws_public_cert',
    required: true,
    counts: given => parsePemCertificate(given) ?? given,
  }),
  // hvac sends this field as `document_type`
  type: lowerTextField('`pkcs7` (default) or `identity`', { formerly: 'document_type' }),
}

/**
 * Handles POST config/certificate/:cert_name. Validity dates are not checked, because the certificate's key is pinned.
 * @see docs/spec/configuration.md#certificates
 */
export function writeCertificate(call: Call<typeof certificateFields>): CallOutcome {
  const stored = subjectOf(call, 'certificate')
  const type = call.parameters.type ?? stored?.data.type ?? 'pkcs7'
  if (type !== 'pkcs7' && type !== 'identity') throw invalidRequestError('type must be pkcs7 or identity')
  const pem = parsePemCertificate(call.parameters.cloud_public_cert ?? '')
  if (!pem) throw invalidRequestError('certificate is not a single PEM-encoded X.509 certificate')
  const fault = keyFault(pem)
  if (fault) throw invalidRequestError(fault)
  return answerAfterChanges([replaceItem(subjectKeyOf(call, 'certificate'), stored, { pem, type })])
}

const PEM = /^\s*-----BEGIN CERTIFICATE-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----\s*$/

/**
 * Returns the PEM text of exactly one certificate, given as PEM or as base64 of PEM; undefined for any other text. PEM that
 * OpenSSL can parse is returned unchanged. Indented PEM, and PEM whose line breaks became blanks, is split into lines again.
 */
export function parsePemCertificate(given: string): string | undefined {
  const text = readBase64(given, 'optional')?.toString('utf8') ?? given
  const body = PEM.exec(text)?.[1]
  return body === undefined ? undefined : [text, inLines(body)].find(parses)
}

const inLines = (body: string): string =>
  `-----BEGIN CERTIFICATE-----\n${removeWhitespace(body).replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`

function parses(pem: string): boolean {
  try {
    return new X509Certificate(pem).publicKey.type === 'public'
  } catch {
    return false
  }
}

const keyFault = (pem: string): string | undefined =>
  isRegistrableKey(new X509Certificate(pem).publicKey)
    ? undefined
    : 'the certificate’s key must be RSA (1024 bits or more), DSA, or ECDSA on P-256 or P-384'

/**
 * Handles GET config/certificate/:cert_name. Returns both names of the field, because some clients read the old
 * name.
 */
export function readCertificate(call: Call): CallOutcome {
  const { pem, type } = requireSubject(call, 'certificate').data
  return answer(dataAnswer({ cloud_public_cert: pem, aws_public_cert: pem, type }))
}
