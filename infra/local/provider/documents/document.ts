import { sign } from 'node:crypto'
import type { Ec2Instance } from '../state/state.ts'
import { type DocumentAuthority, documentSigningAs } from './authority.ts'
import { wrapLines } from './certificate.ts'
import { encodeCmsSignedData } from './cms.ts'

/** The items of the metadata service under `dynamic/instance-identity/`. */
export interface SignedDocument {
  /** The exact signed text, without a newline at its end. */
  document: string
  /** RSA-1024, SHA-256, over the text. */
  signature: string
  /** CMS, DSA-1024, SHA-1. */
  pkcs7: string
  /** CMS, RSA-2048, SHA-256. */
  rsa2048: string
}

/** Returns the identity document of an instance, with keys and spacing as AWS writes them. */
export function instanceDocumentOf(instance: Ec2Instance): string {
  const entries = {
    accountId: instance.account,
    architecture: instance.architecture,
    availabilityZone: instance.availabilityZone,
    billingProducts: null,
    devpayProductCodes: null,
    marketplaceProductCodes: null,
    imageId: instance.imageId,
    instanceId: instance.instanceId,
    instanceType: instance.instanceType,
    kernelId: null,
    pendingTime: instance.pendingTime,
    privateIp: instance.privateIp,
    ramdiskId: null,
    region: instance.region,
    version: '2017-09-30',
  }
  const lines = Object.entries(entries).map(([key, value]) => `  "${key}" : ${JSON.stringify(value)}`)
  return `{\n${lines.join(',\n')}\n}`
}

/**
 * Signs an identity document in all three forms. Base64 is wrapped at 76 columns.
 * @param at signing time, milliseconds since 1970
 */
export function signInstanceDocument(
  document: string,
  authority: DocumentAuthority,
  at: number,
): SignedDocument {
  const content = Buffer.from(document, 'utf8')
  const { privateKey, scheme } = documentSigningAs(authority, 'rsa', at)
  return {
    document,
    signature: wrapLines(sign(scheme.digest, content, privateKey).toString('base64'), 76),
    pkcs7: wrapLines(
      encodeCmsSignedData(content, documentSigningAs(authority, 'dsa', at)).toString('base64'),
      76,
    ),
    rsa2048: wrapLines(
      encodeCmsSignedData(content, documentSigningAs(authority, 'rsa2048', at)).toString('base64'),
      76,
    ),
  }
}
