import type { KeyObject } from 'node:crypto'

/** A key that may vouch for identity documents. */
export interface TrustedKey {
  /** `registered` by an administrator, or one of the provider's published kinds */
  origin: 'registered' | 'rsa2048' | 'dsa' | 'rsa'
  /** DER of the issuer's name and content octets of the serial number, as hex */
  issuer: string
  serial: string
  /** regions that the key speaks for; a registered one speaks for all */
  regions?: readonly string[]
  key: () => KeyObject
}

/** What an environment keeps of a certificate that has vouched for a document. */
export interface KnownCertificate {
  name: string
  /** of the item that it was read from */
  rev: string
  key: TrustedKey
}
