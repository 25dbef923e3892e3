import type { RevokedCluster } from './link.ts'

/**
 * A cluster that may have keys of the set, or was revoked. The item replicates, so whichever cluster is promoted
 * later has it. An admitted cluster counts as given every term, whether it has fetched the term or not.
 * @see docs/spec/keys.md#who-was-given-a-term
 */
export interface TermHolder {
  /** name of its last admission; empty: unknown */
  name: string
  /** epoch milliseconds when it was admitted, or first seen */
  at: number
  /** nothing that it signs counts until it is admitted again */
  revoked?: RevokedCluster
  /** identities of the terms that it was given at most; absent: all terms */
  terms?: readonly string[]
}
