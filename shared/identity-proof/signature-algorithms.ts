import type { AsymmetricKeyDetails, KeyObject } from 'node:crypto'

/** A signature algorithm of identity documents, as CMS names it. */
export interface SignatureAlgorithm {
  digest: Digest
  key: KeyKind
}

interface Digest {
  name: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  /** accepted only if the deployment accepts legacy signatures */
  legacy: boolean
}

/** A key type, with the keys that may be registered and the keys that may sign without legacy signatures. */
interface KeyKind {
  /** `asymmetricKeyType` of the key */
  type: 'rsa' | 'dsa' | 'ec'
  registered: (details: AsymmetricKeyDetails) => boolean
  modern: (details: AsymmetricKeyDetails) => boolean
}

const hasBits =
  (least: number) =>
  ({ modulusLength = 0 }: AsymmetricKeyDetails): boolean =>
    modulusLength >= least

const onCurve =
  (...curves: string[]) =>
  ({ namedCurve = '' }: AsymmetricKeyDetails): boolean =>
    curves.includes(namedCurve)

const RSA: KeyKind = { type: 'rsa', registered: hasBits(1024), modern: hasBits(2048) }
const DSA: KeyKind = { type: 'dsa', registered: () => true, modern: () => false }
const EC: KeyKind = { type: 'ec', registered: onCurve('prime256v1', 'secp384r1'), modern: () => true }

const SHA1: Digest = { name: 'sha1', legacy: true }
const SHA256: Digest = { name: 'sha256', legacy: false }
const SHA384: Digest = { name: 'sha384', legacy: false }
const SHA512: Digest = { name: 'sha512', legacy: false }

const digests: Readonly<Record<string, Digest>> = {
  '1.3.14.3.2.26': SHA1,
  '2.16.840.1.101.3.4.2.1': SHA256,
  '2.16.840.1.101.3.4.2.2': SHA384,
  '2.16.840.1.101.3.4.2.3': SHA512,
}

/** Algorithms by object identifier. An algorithm without a digest uses the signer's. */
const algorithms: Readonly<Record<string, { key: KeyKind; digest?: Digest }>> = {
  '1.2.840.113549.1.1.1': { key: RSA },
  '1.2.840.113549.1.1.5': { key: RSA, digest: SHA1 },
  '1.2.840.113549.1.1.11': { key: RSA, digest: SHA256 },
  '1.2.840.113549.1.1.12': { key: RSA, digest: SHA384 },
  '1.2.840.113549.1.1.13': { key: RSA, digest: SHA512 },
  '1.2.840.10040.4.1': { key: DSA },
  '1.2.840.10040.4.3': { key: DSA, digest: SHA1 },
  '2.16.840.1.101.3.4.3.2': { key: DSA, digest: SHA256 },
  '1.2.840.10045.2.1': { key: EC },
  '1.2.840.10045.4.3.2': { key: EC, digest: SHA256 },
  '1.2.840.10045.4.3.3': { key: EC, digest: SHA384 },
  '1.2.840.10045.4.3.4': { key: EC, digest: SHA512 },
}

/** Returns the digest with this object identifier. */
export const digestAlgorithmOf = (id = ''): Digest | undefined => digests[id]

/**
 * Returns the algorithm for a signer's digest and signature identifiers.
 * @returns undefined if an identifier is unknown or they contradict each other
 */
export function findSignatureAlgorithm(digestId = '', signatureId = ''): SignatureAlgorithm | undefined {
  const digest = digests[digestId]
  const named = algorithms[signatureId]
  if (!digest || !named) return undefined
  return named.digest && named.digest !== digest ? undefined : { digest, key: named.key }
}

const kindOf = ({ asymmetricKeyType }: KeyObject): KeyKind | undefined =>
  [RSA, DSA, EC].find(({ type }) => type === asymmetricKeyType)

/** Reports whether an administrator may register the key. */
export const isRegistrableKey = (key: KeyObject): boolean =>
  kindOf(key)?.registered(key.asymmetricKeyDetails ?? {}) ?? false

/** Reports whether signatures by the key are accepted without legacy signatures. */
export const isModernKey = (key: KeyObject): boolean =>
  kindOf(key)?.modern(key.asymmetricKeyDetails ?? {}) ?? false
