import type { Head } from '../../journal/head.ts'
import type { Place } from '../../journal/journal.ts'
import type { PagePlace } from '../../journal/page-places.ts'
import { meets, type TermNeeds } from '../../journal/terms.ts'
import { type CellsAnswer, type EchoAnswer, LinkRefused } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import type { Puller } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import type { Own } from '../apply/target.ts'
import type { Looked } from '../sync/compare.ts'

/** Cells that were asked for before they were wanted: behind which position, while what hold of the head. */
export interface Ahead {
  readonly seq: number
  readonly hold: number
  /** undefined: it failed. `stored`: the cells of it that are wanted next are in the table, and no head says so yet */
  readonly come: Promise<{ readonly answer: CellsAnswer; readonly stored: boolean } | undefined>
}

/** How far the comparison after a full sync is, in this run. */
export interface Comparison {
  /** pages whose hashes differ, and have not been looked at; absent: the own hashes are not known to be new */
  pages?: PagePlace[] | undefined
  /** epoch milliseconds: whether they are is not looked at before */
  notBefore?: number
  /** keys in them that seem to differ; what the primary has just written is among them */
  suspects: Place[]
  /** some of these, as the primary had them */
  looked?: Looked
  found: Place[]
}

/** A secondary at work: what it may reach, and what it has learnt of its source in this run. */
export interface Follower {
  readonly own: Own & Pick<Ports, 'store' | 'log' | 'audit'>
  /** the cluster record, fresh enough to commit with; undefined once this cluster follows nobody */
  readonly cluster: () => Promise<ClusterRead | undefined>
  /** absent: this cluster knows no primary */
  readonly link: SourceLink | undefined
  /** the link's name: where the head names another one, this one has been replaced */
  readonly linkName: string
  /** where this cluster is reached by the link, and by clients; absent: nobody knows */
  readonly address?: string
  readonly apiAddress?: string
  /** name of the own tree */
  readonly life: string
  readonly hasTime: () => boolean
  /** takes the terms that something needs, before it is stored; tells what is held then */
  readonly hold: (needs: TermNeeds) => Promise<TermNeeds>
  /** stores a keyring that the primary gave, beside the own one */
  readonly take: (sealed: string) => Promise<void>
  /** what is held, as far as was asked for in this run */
  held?: TermNeeds
  /** the source's last answer */
  source?: EchoAnswer
  /** the epoch that this cluster had written last when it asked for that; empty: it applied another's; absent: nothing was asked */
  heardIn?: string
  /** the last cell that was staged in this run: its position, and when it was written, epoch milliseconds */
  newest?: { seq: number; at: number }
  /** when a cell was staged that tells more than the time, epoch milliseconds */
  cameAt?: number
  ahead?: Ahead
  /** behind this position the source keeps cells, as it told */
  from: number
  /** whether a change of the cluster's role is under way: then only what keeps up is done, and no sync is begun */
  handsOff?: boolean
  /** of the last sync with the primary; absent: nobody has looked yet whether there is one to make */
  comparison?: Comparison | 'none'
  /** whether the own closed journal is known to have no hole */
  filled: boolean
  /** what status shows */
  readonly told: Told
}

/** What a secondary tells of itself. */
export interface Told extends Pick<Puller, 'state' | 'fault'> {
  synced: number
}

/**
 * `worked`: go on at once; `waiting`: there is nothing to do yet; `stopped`: nothing will come of going on; `replaced`:
 * this cluster follows by another link by now.
 */
export type Progress = 'worked' | 'waiting' | 'stopped' | 'replaced'

/** Whether nothing that comes by this follower's link is taken any more. */
export const isReplaced = ({ link, linkName }: Follower, head: Pick<Head, 'link'>): boolean =>
  link !== undefined && head.link !== linkName

/**
 * Whether this cluster was a primary itself since its source answered: then the answer is of another time, and a sync
 * begun by it would take the journal from the heir, who may fetch its rest still.
 */
export const isOfBefore = ({ heardIn }: Follower, { own }: Pick<Head, 'own'>): boolean =>
  heardIn !== undefined && own !== '' && own !== heardIn

/** Nothing more can be done by itself: what is wrong is shown by status. */
export function stopped({ told }: Follower, fault: string): Progress {
  told.state = 'idle'
  told.fault = fault
  return 'stopped'
}

/**
 * Holds what is needed, and the term that the source writes by as it last told, before anything else of it is stored.
 * @throws Error where the source does not give it
 */
export async function holdFor(follower: Follower, { number, ids }: TermNeeds): Promise<void> {
  const newest = follower.source?.term ?? ''
  const needs = newest === '' ? { number, ids } : { number, ids: [...ids, newest], active: newest }
  if (follower.held && meets(follower.held, needs)) return
  follower.held = await follower.hold(needs)
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof LinkRefused && error.code === 'unavailable'

/** Asks the source how far it is, and tells it how far this cluster is. */
export async function ask(follower: Follower): Promise<EchoAnswer> {
  const { own, link, told, address = '', apiAddress = address } = follower
  if (!link) throw new Error('this cluster knows no primary')
  const head = await own.journal.head()
  const position = { epoch: head?.epoch ?? '', seq: head?.done ?? 0 }
  const { ownTerm = '' } = (await follower.cluster())?.record ?? {}
  const echo = () => link.echo({ position, state: told.state, address, apiAddress, ownTerm })
  // a primary that writes the same record at this moment wants the question repeated
  follower.source = await echo().catch(error => (isUnavailable(error) ? echo() : Promise.reject(error)))
  follower.heardIn = head?.own ?? ''
  return follower.source
}
