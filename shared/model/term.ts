import type { EncryptedText } from '../values/secret.ts'

/**
 * A term of the set's keyring, identified by a hash of its key. Times are epoch milliseconds.
 * @see docs/spec/keys.md#terms
 */
export interface KeyringTerm {
  /**
   * the number that encrypted texts begin with and that `sys/key-status` shows; after a forced promotion two terms
   * may have the same number
   */
  number: number
  since: number
  /** a text that only the term's key decrypts */
  probe: EncryptedText
  /** the clusters whose signatures its batch tokens may bear; each batch token bears one of them */
  signers: readonly TokenSigner[]
  /** when all its batch tokens ended, whatever their own expiry; absent: they count */
  tokensUntil?: number
  /** since when no stored item has been encrypted with it; absent: some may be */
  unusedSince?: number
  /** when its key was destroyed permanently on all clusters; absent: it is kept */
  destroyed?: number
}

/** A cluster that was primary while the term encrypted. */
export interface TokenSigner {
  /** UUID */
  cluster: string
  /** raw Ed25519 public key, base64 */
  key: string
  /** the cluster's own name; absent: it is known only from a fence */
  name?: string
}
