import type { KeyObject } from 'node:crypto'

/** A key that may verify identity documents. */
export interface TrustedKey {
  /** `registered`: an administrator registered the key; the other origins are the provider's published kinds */
  origin: 'registered' | 'rsa2048' | 'dsa' | 'rsa'
  /** DER of the issuer's name and content octets of the serial number, as hex */
  issuer: string
  serial: string
  /** `regions` whose documents the key may verify; absent: all regions */
  regions?: readonly string[]
  key: () => KeyObject
}

/** A certificate that has verified a document, as an environment remembers it. */
export interface KnownCertificate {
  name: string
  /** `rev`: revision of the item from which the certificate was read */
  rev: string
  key: TrustedKey
}
