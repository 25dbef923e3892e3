import type { Revoked } from './link.ts'

/**
 * A cluster that may have keys of the set, or was revoked: every member has this item, so that whoever is promoted later
 * knows. A cluster that is admitted counts as given every term, whether it has fetched it or not. @see docs/spec/keys.md#who-was-given-a-term
 */
export interface Holder {
  /** name under which it was admitted last; empty: unknown */
  name: string
  /** when it was admitted, or became known, epoch milliseconds */
  at: number
  /** nothing that it signs counts, until it is admitted anew */
  revoked?: Revoked
  /** identities of the terms that it was given at most; absent: all that there are */
  terms?: readonly string[]
}
