import type { Encrypted } from '../values/secret.ts'

/** A term of the set's keyring, named by the identity of its key. Times are epoch milliseconds. @see docs/spec/keys.md#terms */
export interface Term {
  /** what encrypted texts begin with, and `sys/key-status` shows; after a forced promotion two terms may have one */
  number: number
  since: number
  /** a text that only its key decrypts */
  probe: Encrypted
  /** clusters that it was handed to: each keeps it, whatever becomes of its membership. Absent: none */
  given?: readonly Given[]
  /** when its key was given up, everywhere and for good; absent: it is kept */
  destroyed?: number
}

export interface Given {
  /** UUID */
  cluster: string
  at: number
}
