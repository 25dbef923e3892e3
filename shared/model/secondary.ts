/** A sixteenth of a sync. Every write of the sync goes together with one of it, so that a late one is refused. */
export interface SyncSegment {
  /** of the head while the sync runs */
  incarnation: number
  /** id of the own tree */
  treeId: string
  /** all items, or those that a report names */
  scope: 'all' | 'touched'
  /** where the replay begins, and the lineage of the source at the beginning */
  start: number
  lineage: (readonly [epoch: string, start: number])[]
  /** fetching what the source has; looking for what only this cluster has; nothing is written any more */
  phase: 'source' | 'own' | 'closed'
  /** nothing of this tree was there before the sync */
  fresh?: true
  /** what was fetched is to be compared with the source; absent: it is not, or it has been */
  compare?: true
  /** of the page that comes next; absent: the first one */
  cursor?: { pk: string; sk: string }
  /** keys seen so far; of a list, where it goes on */
  seen: number
}

/** A change that the set does not have. */
export interface LostChange {
  kind: string
  pk: string
  sk: string
  /** as it was stored, encrypted fields encrypted; absent: it was deleted */
  item?: unknown
}

/**
 * Journal entries that stood in this cluster's journal only, and keys that a sync may have touched. `bare`: items are
 * left out.
 */
export interface Report {
  /** epoch milliseconds */
  at: number
  /** the source's epoch, and the last position that both journals had in common */
  epoch: string
  forkPoint: number
  entries: { pos: string; id: string; at: number; changes: LostChange[]; withoutItems?: true }[]
  /** keys that are fetched besides those of the journal entries */
  keys: { kind: string; pk: string; sk: string }[]
}

/** Somebody wants a link that has stopped to begin anew: the next run forgets what stopped it. */
export interface Recovery {
  /** epoch milliseconds */
  at: number
}

/** There is something to fetch: the run that rests looks at once. */
export interface Notice {
  /** epoch milliseconds */
  at: number
}

/** Whether a promotion would have gone through, as it was tried last. */
export interface ReadinessTried {
  /** epoch milliseconds */
  at: number
  /** names of the rows of the table of a promotion that would have refused it; empty: none */
  refusedBy: readonly string[]
  /** role and contact when it was tried; where these have changed it does not count */
  basis: string
}

/** A key whose item is not as the journal of the primary says, again and again. */
export interface DivergingKey {
  kind: string
  pk: string
  sk: string
  /** times that it was found, each followed by a sync until it is given up */
  rounds: number
  /** epoch milliseconds of the last one */
  at: number
}

/** What does not stay in line with the primary. */
export interface Diverging {
  /** of the own tree, and of the link to that primary: elsewhere it says nothing */
  treeId: string
  link: string
  keys: DivergingKey[]
}

/** Who is applying, and how far it is. */
export interface Puller {
  /** a run has this name of its own */
  runId: string
  /** epoch milliseconds: then another one may take over */
  until: number
  /** as status shows it */
  state: 'idle' | 'stream-wals' | 'merkle-diff' | 'merkle-sync'
  /** keys seen by the sync that runs */
  synced?: number
  /** what is wrong, in words */
  fault?: string
}
