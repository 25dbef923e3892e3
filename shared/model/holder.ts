import type { RevokedCluster } from './link.ts'

/**
 * A cluster that may have keys of the set, or was revoked. The holder's item replicates, so every cluster that is
 * promoted later has it. An admitted cluster counts as given every term, whether it has fetched the term or not.
 * @see docs/spec/keys.md#who-was-given-a-term
 */
export interface TermHolder {
  /** name of the holder's last admission; empty: unknown */
  name: string
  /** epoch milliseconds when the cluster was admitted, or first seen */
  at: number
  /** `revoked`: no signature of the cluster counts until the cluster is admitted again */
  revoked?: RevokedCluster
  /** `terms`: identities of the terms that the cluster was given at most; absent: all terms */
  terms?: readonly string[]
}
