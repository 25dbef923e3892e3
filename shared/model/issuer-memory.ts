import type { Result } from '../values/result.ts'
import type { IssuerKey } from './jwt.ts'

/** The result of a fetch of keys. `unknown`: AWS knows no such issuer. */
export type FetchedKeys =
  | { kind: 'keys'; keys: readonly IssuerKey[]; at: number }
  | { kind: 'unknown' | 'timeout' | 'throttled' | 'failed' | 'malformed'; at: number }

/** The fetches of keys that an environment remembers. Times are epoch milliseconds. */
export interface IssuerMemory {
  /** the latest result by the host of the issuer; counts for a minute */
  results: Map<string, FetchedKeys>
  /** fetches under way, by host; `at`: when the fetch began */
  running: Map<string, { at: number; result: Promise<FetchedKeys> }>
  /** the keys that verified the latest tokens, by issuer and key ID */
  verifying: Map<string, IssuerKey>
  /** the present minute of fetches that strangers can cause; `ofKnownIssuers` counts separately */
  minute: { startedAt: number; fetches: number; bySource: Map<string, number>; ofKnownIssuers: number }
  faultsInRow: number
  /** `pausedAt`: when the latest pause of all fetches began */
  pausedAt: number
}

/**
 * Why the keys of an issuer could not be fetched. `unknown`: its host does not exist or answers 4xx. `timeout`: no answer in
 * time. `throttled` and `failed`: other faults of the host or of the connection.
 */
export type IssuerFetchFault = 'unknown' | 'timeout' | 'throttled' | 'failed'

/** Fetches the public keys of issuers from the hosts that AWS runs for them. */
export interface IssuerKeyFetcher {
  /** Returns the text of a key set. */
  fetch(host: string, deadline: number): Promise<Result<string, IssuerFetchFault>>
}
