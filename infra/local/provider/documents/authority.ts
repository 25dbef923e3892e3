import { createPrivateKey, generateKeyPair, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import {
  dsaSha1,
  rsaSha256,
  type SignatureScheme,
  selfSignCertificate,
  toCertificatePem,
} from './certificate.ts'
import type { CmsSigning } from './cms.ts'

/** A key with its self-signed certificate, both PEM. */
export interface CertifiedKey {
  certificate: string
  privateKey: string
}

/** The three signers of identity documents, named as the certificates AWS publishes per region. */
export interface DocumentAuthority {
  /** RSA-2048, signs the `rsa2048` item. */
  rsa2048: CertifiedKey
  /** RSA-1024, signs the `signature` item. */
  rsa: CertifiedKey
  /** DSA-1024, signs the `pkcs7` item. */
  dsa: CertifiedKey
}

/** Signature scheme of each signer's certificate and documents. */
const schemes: Record<keyof DocumentAuthority, SignatureScheme> = {
  rsa2048: rsaSha256,
  rsa: rsaSha256,
  dsa: dsaSha1,
}

const generate = promisify(generateKeyPair)

/** Generates keys and certificates, which takes about 100 ms. */
export async function createDocumentAuthority(): Promise<DocumentAuthority> {
  const [rsa2048, rsa, dsa] = await Promise.all([
    generate('rsa', { modulusLength: 2048 }),
    generate('rsa', { modulusLength: 1024 }),
    generate('dsa', { modulusLength: 1024, divisorLength: 160 }),
  ])
  return {
    rsa2048: signerOf(rsa2048, schemes.rsa2048),
    rsa: signerOf(rsa, schemes.rsa),
    dsa: signerOf(dsa, schemes.dsa),
  }
}

type KeyPair = Awaited<ReturnType<typeof generate>>

const signerOf = ({ publicKey, privateKey }: KeyPair, scheme: SignatureScheme): CertifiedKey => ({
  certificate: toCertificatePem(selfSignCertificate(publicKey, privateKey, scheme)),
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
})

/**
 * Returns the key, serial number and time with which one of the three signers signs a document.
 * @param at signing time, milliseconds since 1970
 */
export const documentSigningAs = (
  authority: DocumentAuthority,
  name: keyof DocumentAuthority,
  at: number,
): CmsSigning => ({
  privateKey: createPrivateKey(authority[name].privateKey),
  serial: BigInt(`0x${new X509Certificate(authority[name].certificate).serialNumber}`),
  scheme: schemes[name],
  at,
})
