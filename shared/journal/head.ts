import type { Epoch, Line } from './position.ts'

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
  seq: number
  /** the last position whose cell is applied; the writer leaves it alone */
  done: number
  /** grows with every claim, sync and end of a sync: the first part of all marks */
  hold: number
  line: Line
  /** cells are kept from behind this position on */
  from: number
  /** end of the replay after a sync, 0 outside */
  until: number
  /** what a sync that is not finished may have touched: nothing, everything, or what a report names */
  dirty: null | 'all' | string
  /** the source's epoch when it was touched */
  dirtyFrom: Epoch | ''
  /** the highest number of an epoch ever seen */
  n: number
  /** UUID of the only cluster that may take the closed epoch over; empty: none has asked. It means nothing while writing */
  heir: string
  /** when the last staged cell was written, epoch milliseconds by the clock of its writer; 0 or absent: nobody knows */
  stagedAt?: number
  /** name of the link by which this cluster follows: what comes by another one is not taken any more. Empty: it never followed */
  link: string
}

/** The head of a journal that begins. */
export const firstHead = (epoch: Epoch, n: number): Head => ({
  mode: 'writing',
  epoch,
  own: epoch,
  seq: 0,
  done: 0,
  hold: 1,
  line: [[epoch, 1]],
  from: 0,
  until: 0,
  dirty: null,
  dirtyFrom: '',
  n,
  heir: '',
  link: '',
})
