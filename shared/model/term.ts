import type { EncryptedText } from '../values/secret.ts'

/**
 * A term of the set's keyring, identified by a hash of its key. Times of a term are epoch milliseconds.
 * @see docs/spec/keys.md#terms
 */
export interface KeyringTerm {
  /**
   * `number` with which encrypted texts begin and that `sys/key-status` shows; after a forced promotion two terms
   * may have the same number
   */
  number: number
  since: number
  /** `probe`: a text that only the term's key decrypts */
  probe: EncryptedText
  /**
   * `signers`: the clusters that may sign the term's batch tokens; each batch token has the signature of one
   * cluster
   */
  signers: readonly TokenSigner[]
  /** `tokensUntil`: when all batch tokens of the term ended, whatever their own expiry; absent: they count */
  tokensUntil?: number
  /** `unusedSince`: since when no stored item has been encrypted with the term; absent: some items may be */
  unusedSince?: number
  /** `destroyed`: when the term's key was destroyed permanently on all clusters; absent: the key is kept */
  destroyed?: number
}

/** A cluster that was primary while the key term encrypted new values. */
export interface TokenSigner {
  /** UUID */
  cluster: string
  /** raw Ed25519 public key, base64 */
  key: string
  /** `name` of the cluster itself; absent: the cluster is known only from a fence */
  name?: string
}
