/**
 * One of the sixteen segments of a sync. Every write of the sync is in one transaction with a write of its segment,
 * so that late writes are refused.
 */
export interface SyncSegment {
  /** incarnation of the head while the sync runs */
  incarnation: number
  /** id of this cluster's tree */
  treeId: string
  /** `scope`: all items, or the items that a report names */
  scope: 'all' | 'touched'
  /** `start`, `lineage`: position at which the replay begins, and the lineage of the source at the beginning */
  start: number
  lineage: (readonly [epoch: string, start: number])[]
  /**
   * `source`: the sync fetches the source's items. `own`: the sync looks for items that only this cluster has.
   * `closed`: the segment accepts no more writes.
   */
  phase: 'source' | 'own' | 'closed'
  /** `fresh`: the tree was empty before the sync */
  fresh?: true
  /** `compare`: the fetched items are still to be compared with the source; absent: no comparison is due */
  compare?: true
  /** `cursor`: key at which the next page begins; absent: the first page */
  cursor?: { pk: string; sk: string }
  /** `seen`: number of processed keys; for a report, the place in its list */
  seen: number
}

/** A change that the set does not have. */
export interface LostChange {
  kind: string
  pk: string
  sk: string
  /** `item` as stored, encrypted fields encrypted; absent: the commit deleted it */
  item?: unknown
}

/** Journal entries that only this cluster's journal had, and keys that a sync may have changed. */
export interface DifferenceReport {
  /** epoch milliseconds */
  at: number
  /** `epoch`, `forkPoint`: the source's epoch, and the last position that both journals have in common */
  epoch: string
  forkPoint: number
  entries: { pos: string; id: string; at: number; changes: LostChange[]; withoutItems?: true }[]
  /** `keys` to fetch in addition to the keys of the journal entries */
  keys: { kind: string; pk: string; sk: string }[]
}

/** A request to reset a stopped link: the next run clears the fault that stopped the link. */
export interface SyncRecovery {
  /** epoch milliseconds */
  at: number
}

/** A notice that the primary has new entries: a resting run fetches them at once. */
export interface PrimaryNotice {
  /** epoch milliseconds */
  at: number
}

/** The result of the last readiness check: whether a promotion would have been accepted. */
export interface ReadinessTest {
  /** epoch milliseconds */
  at: number
  /** names of the rows of the promotion table that would have refused the promotion; empty: no row */
  refusedBy: readonly string[]
  /** `basis`: role and contact at the time of the check; if they have changed, the result is void */
  basis: string
}

/** A key whose item repeatedly differs from what the primary's journal says. */
export interface DivergingKey {
  kind: string
  pk: string
  sk: string
  /** `rounds`: how often the difference was found; a sync follows each time until the limit is reached */
  rounds: number
  /** epoch milliseconds at which the difference was last found */
  at: number
}

/** The keys that repeatedly differ from the primary. */
export interface DivergingKeys {
  /** `treeId`, `link`: ids of this cluster's tree and of the link to the primary; with other ids the list is void */
  treeId: string
  link: string
  keys: DivergingKey[]
}

/** The lease of the follower, with its progress. */
export interface PullerState {
  /** unique id of the run */
  runId: string
  /** epoch milliseconds until which the run holds the lease */
  until: number
  /** state of the stream, named as in the status */
  state: 'idle' | 'stream-wals' | 'merkle-diff' | 'merkle-sync'
  /** `synced`: keys that the running sync has seen */
  synced?: number
  /** a description of the fault */
  fault?: string
}
