import type { Epoch, Lineage, Position } from './position.ts'

/**
 * What the journal of a cluster is doing. `writing`: it is a primary's. `closed`: it has an exact end. `applying`,
 * `draining`, `syncing`: it follows another cluster's.
 */
export type HeadMode = 'writing' | 'closed' | 'applying' | 'draining' | 'syncing'

/** The head of a journal: one small item, changed only by plain conditional updates. */
export interface Head {
  mode: HeadMode
  /** of the last position */
  epoch: Epoch
  /** the epoch that this cluster itself writes, or wrote last; empty where it follows */
  own: Epoch | ''
  /** the last position given away, or staged */
  last: number
  /** the last position whose journal entry is applied; the writer leaves it alone */
  applied: number
  /** grows with every take-over, sync and end of a sync: the first part of all marks */
  incarnation: number
  lineage: Lineage
  /** journal entries are kept from behind this position on */
  retainedFrom: number
  /** end of the replay after a sync, 0 outside */
  replayUntil: number
  /** what a sync that is not finished may have touched: nothing, everything, or what a report names */
  unfinishedSync: null | 'all' | string
  /** the source's epoch when it was touched */
  unfinishedSyncEpoch: Epoch | ''
  /** the highest number of an epoch ever seen */
  maxEpoch: number
  /** UUID of the only cluster that may take the closed epoch over; empty: none has asked. It means nothing while writing */
  successor: string
  /**
   * when the last staged journal entry was written, epoch milliseconds by the clock of its writer; 0 or absent: nobody
   * knows
   */
  stagedAt?: number
  /**
   * name of the link by which this cluster follows: what comes by another one is not taken any more. Empty: it never
   * followed
   */
  link: string
}

/** The last position given away, or staged. */
export const lastPosition = ({ epoch, last }: Pick<Head, 'epoch' | 'last'>): Position => ({
  epoch,
  seq: last,
})

/** The head of a journal that begins. @param number of the epoch */
export const firstHead = (epoch: Epoch, number: number): Head => ({
  mode: 'writing',
  epoch,
  own: epoch,
  last: 0,
  applied: 0,
  incarnation: 1,
  lineage: [[epoch, 1]],
  retainedFrom: 0,
  replayUntil: 0,
  unfinishedSync: null,
  unfinishedSyncEpoch: '',
  maxEpoch: number,
  successor: '',
  link: '',
})
