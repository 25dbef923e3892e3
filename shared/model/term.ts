import type { Encrypted } from '../values/secret.ts'

/** A term of the set's keyring, named by the identity of its key. Times are epoch milliseconds. @see docs/spec/keys.md#terms */
export interface Term {
  /** what encrypted texts begin with, and `sys/key-status` shows; after a forced promotion two terms may have one */
  number: number
  since: number
  /** a text that only its key decrypts */
  probe: Encrypted
  /** who signs its batch tokens: each of them bears a signature of one of these */
  signers: readonly TokenSigner[]
  /** when all its batch tokens ended, whatever they and any clock say; absent: they count */
  tokensUntil?: number
  /** since when nothing that is stored has been encrypted by it; absent: something may be */
  unusedSince?: number
  /** when its key was given up, everywhere and for good; absent: it is kept */
  destroyed?: number
}

/** A cluster that has been primary while the term encrypted. */
export interface TokenSigner {
  /** UUID */
  cluster: string
  /** raw Ed25519 public key, base64 */
  key: string
  /** its own name; absent: of a cluster that only a fence has named */
  name?: string
}
