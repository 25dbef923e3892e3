import type { Head } from '../../journal/head.ts'
import type { Place } from '../../journal/journal.ts'
import type { PagePlace } from '../../journal/page-places.ts'
import { meets, type TermNeeds } from '../../journal/terms.ts'
import { decryptOwnKey } from '../../link/admin/keys.ts'
import { type EntriesAnswer, type HeartbeatAnswer, LinkRefused } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import {
  apiAddressOf,
  type ClusterRecord,
  type Keyring,
  linkAddress,
  primaryOf,
  withKeyring,
} from '../../model/cluster.ts'
import type { Puller } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import type { Own } from '../apply/window.ts'
import type { Looked } from '../sync/compare.ts'
import type { Connect } from './connect.ts'

/** Prefetched journal entries: behind which position, in which incarnation of the head. */
export interface Prefetched {
  readonly seq: number
  readonly incarnation: number
  /**
   * undefined: it failed. `stored`: the journal entries of it that are wanted next are in the table, and no head says
   * so yet
   */
  readonly come: Promise<{ readonly answer: EntriesAnswer; readonly stored: boolean } | undefined>
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

/** What a secondary works with: none of it changes while it follows by one link. */
interface FollowerSettings {
  readonly own: Own & Pick<Ports, 'store' | 'log' | 'audit'>
  /** the cluster record, fresh enough to commit with; undefined once this cluster follows nobody */
  readonly cluster: () => Promise<ClusterRead | undefined>
  /** absent: this cluster knows no primary */
  readonly link: SourceLink | undefined
  /** the link's name: where the head names another one, this one has been replaced */
  readonly linkName: string
  /** where this cluster is reached by the link, and by clients; absent: unknown */
  readonly address?: string
  readonly apiAddress?: string
  /** id of the own tree */
  readonly treeId: string
  readonly hasTime: () => boolean
  /** fetches the terms that items need, before these are stored; returns the terms held then */
  readonly holdTerms: (needs: TermNeeds) => Promise<TermNeeds>
  /** stores a keyring that the primary gave, beside the own one */
  readonly take: (sealed: string) => Promise<void>
}

/** State of a secondary that follows by one link, in one run. */
export interface FollowerSession {
  /** what is held, as far as was asked for */
  held?: TermNeeds
  /** the source's last answer */
  source?: HeartbeatAnswer
  /**
   * the epoch that this cluster had written last when it asked for that; empty: it applied another's; absent: nothing
   * was asked
   */
  epochAtHeartbeat?: string
  /** behind this position the source keeps journal entries, as it told */
  from: number
  /** the last journal entry that was staged: its position, and when it was written, epoch milliseconds */
  lastStaged?: { seq: number; at: number }
  /** when a journal entry was staged that tells more than the time, epoch milliseconds */
  cameAt?: number
  prefetched?: Prefetched
  /** whether a role change is under way: then entries are applied, but no sync is begun */
  roleChangePending?: boolean
  /** comparison after the last sync; absent: not known yet whether one is to be made */
  comparison?: Comparison | 'none'
  /** whether the own closed journal is known to have no hole */
  filled: boolean
  /** what status shows */
  readonly reported: Reported
}

/** A secondary at work. */
export interface Follower extends FollowerSettings {
  readonly session: FollowerSession
}

/** What a session begins with. @param before what the run before reported */
export const newSession = (before?: Pick<Puller, 'state' | 'synced'>): FollowerSession => ({
  from: 0,
  filled: false,
  // until it is known better: the primary is told with the first heartbeat
  reported: { state: before?.state ?? 'idle', synced: before?.synced ?? 0 },
})

/** What a secondary tells of itself. */
interface Reported extends Pick<Puller, 'state' | 'fault'> {
  synced: number
}

/**
 * `worked`: go on at once; `waiting`: there is nothing to do yet; `stopped`: going on is useless; `replaced`: this cluster
 * follows by another link now.
 */
export type Progress = 'worked' | 'waiting' | 'stopped' | 'replaced'

/** Whether this follower's link was replaced, so that everything by it is refused. */
export const isReplaced = ({ link, linkName }: Follower, head: Pick<Head, 'link'>): boolean =>
  link !== undefined && head.link !== linkName

/**
 * Whether this cluster was a primary itself since its source answered: then the answer is of another time, and a sync
 * begun by it would take the journal from the successor, who may fetch its rest still.
 */
export const isOfBefore = (
  { session: { epochAtHeartbeat } }: Pick<Follower, 'session'>,
  { own }: Pick<Head, 'own'>,
): boolean => epochAtHeartbeat !== undefined && own !== '' && own !== epochAtHeartbeat

/** Stops following; status shows why. */
export function stopWith({ session: { reported } }: Follower, fault: string): Progress {
  reported.state = 'idle'
  reported.fault = fault
  return 'stopped'
}

/**
 * Holds what is needed, and the term that the source writes by as it last told, before anything else of it is stored.
 * @throws Error where the source does not give it
 */
export async function holdFor({ session, holdTerms }: Follower, { number, ids }: TermNeeds): Promise<void> {
  const newest = session.source?.term ?? ''
  const needs = newest === '' ? { number, ids } : { number, ids: [...ids, newest], active: newest }
  if (session.held && meets(session.held, needs)) return
  session.held = await holdTerms(needs)
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof LinkRefused && error.code === 'unavailable'

/** Asks the source how far it is, and tells it how far this cluster is. */
export async function ask(follower: Follower): Promise<HeartbeatAnswer> {
  const { own, link, session, address = '', apiAddress = address } = follower
  if (!link) throw new Error('this cluster knows no primary')
  const head = await own.journal.head()
  const position = { epoch: head?.epoch ?? '', seq: head?.applied ?? 0 }
  const { ownTerm = '' } = (await follower.cluster())?.record ?? {}
  // a cluster that has claimed an epoch meanwhile has not given it up
  const maxEpoch = head && head.mode !== 'writing' ? head.maxEpoch : 0
  const heartbeat = () =>
    link.heartbeat({ position, state: session.reported.state, address, apiAddress, ownTerm, maxEpoch })
  // a primary that writes the same record at this moment wants the question repeated
  session.source = await heartbeat().catch(error =>
    isUnavailable(error) ? heartbeat() : Promise.reject(error),
  )
  session.epochAtHeartbeat = head?.own ?? ''
  return session.source
}

export type FollowerPorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'keyFactory' | 'clock' | 'entropy' | 'log' | 'audit' | 'deployment'
>

/**
 * A follower of the primary that the cluster record names; undefined when this cluster is no secondary.
 * @param hasTime whether there is time for another page of a sync
 * @param reported what the run before reported
 * @param until epoch milliseconds: the primary is not waited for any longer; absent: as long as each call may take
 */
export async function newFollower(
  ports: FollowerPorts,
  connect: Connect,
  { hasTime, reported, until }: { hasTime: () => boolean; reported?: Puller | undefined; until?: number },
): Promise<Follower | undefined> {
  const cluster = secondaryRecord(ports)
  const first = await cluster()
  const { treeId } = first?.record ?? {}
  if (!first || treeId === undefined) return undefined
  const link = await linkOf(first, ports, peer => connect({ ...peer, until }))
  const { journal, store, clock, entropy, log, audit } = ports
  return {
    own: { journal, store, clock, entropy, log, audit },
    cluster,
    link,
    linkName: first.record.link?.name ?? '',
    treeId,
    hasTime,
    holdTerms: async needs => {
      const now = await cluster()
      return now && link ? holdTerm(ports, link, now, needs) : { number: 0, ids: [] }
    },
    take: async sealed => {
      const now = await cluster()
      if (now) await takeSealed(ports, now, sealed)
    },
    address: linkAddress(first.record, ports.deployment),
    apiAddress: apiAddressOf(first.record, ports.deployment),
    session: newSession(reported),
  }
}

/** The cluster record while this cluster is a secondary, read again before it is too old to commit with. */
function secondaryRecord({ store, clock, cipher }: FollowerPorts) {
  let read: ClusterRead | undefined
  return async (): Promise<ClusterRead | undefined> => {
    if (read && clock.now() - read.readAt <= bounds.RECORD_REREAD_MS) return read
    const readAt = clock.now()
    const [item] = await store.read([key('cluster')])
    if (item) cipher.expect(item.data)
    read = item?.data.mode === 'secondary' ? { record: item.data, readAt } : undefined
    return read
  }
}

async function linkOf({ record }: ClusterRead, { cipher }: FollowerPorts, connect: Connect) {
  const { set } = record
  const link = primaryOf(record)
  if (!link || !set) return undefined
  const pair = await decryptOwnKey(link.ownKey, cipher)
  const { id, primaryKey: otherKey, primaryAddr, addrs, ca } = link
  return connect({ set, id, pair, otherKey, addresses: [...new Set([...addrs, primaryAddr])], ca })
}

type Needs = Pick<Ports, 'store' | 'cipher' | 'keyFactory' | 'clock'>

/** The needs that a keyring meets; given-up terms count as held. */
export const termsHeldBy = ({ term, highest = term, active, held = [], gone = [] }: Keyring): TermNeeds => ({
  number: highest,
  ids: [...held, ...gone],
  active,
})

/**
 * Takes the keyring of the primary besides the own one when something is brought by a term that this cluster does not
 * hold yet. It is stored before anything of that term is.
 * @returns what is held
 * @throws Error where the primary does not give the term
 */
async function holdTerm(
  ports: Needs,
  link: Pick<SourceLink, 'keyring'>,
  cluster: ClusterRead,
  needs: TermNeeds,
): Promise<TermNeeds> {
  const [own] = await ports.store.read([key('keyring')])
  if (!own) throw new Error('there is no keyring')
  const held = termsHeldBy(own.data)
  // a number that is not higher is of a term that this cluster has, or the item that names the term comes with it
  if (meets(held, needs)) return held
  const { keyring: sealed } = await link.keyring({ term: needs.number })
  const united = termsHeldBy(await takeSealed(ports, cluster, sealed))
  // a rotation since the primary told of its term may have brought another one that encrypts
  if (!meets(united, { ...needs, active: undefined }))
    throw new Error('the primary does not give a term that it writes by')
  return united
}

/**
 * Stores the terms of the primary's keyring besides the own ones, where this cluster still follows by the same link.
 * @param sealed as the primary gave it
 * @returns the keyring as it stands then
 */
async function takeSealed(ports: Needs, cluster: ClusterRead, sealed: string): Promise<Keyring> {
  const [record, own] = await ports.store.read([key('cluster'), key('keyring')])
  const { set, link } = cluster.record
  if (!record || !own || !set || !link) throw new Error('this cluster follows nobody')
  const pair = await decryptOwnKey(link.ownKey, ports.cipher)
  const { keyring: given } = await ports.keyFactory.importFrom(sealed, pair.exchange, set, ports.clock.now())
  if (record.data.keyring !== given.id) throw new Error('the primary gave the keyring of another set')
  // another link came meanwhile, and with it another primary's keyring
  if (record.data.link?.ownKey !== link.ownKey) return own.data
  const { keyring } = await ports.keyFactory.unite(given, own.data, ports.clock.now())
  // another run may have stored it at this moment: the caller reads again
  await ports.store.commit(keyringChanges(record, own, keyring), cluster)
  const [now] = await ports.store.read([key('keyring')])
  return now?.data ?? own.data
}

/** A cluster's change to another keyring. @param rest of the record */
export function keyringChanges(
  record: Item<'cluster'>,
  own: Item<'keyring'> | undefined,
  made: Keyring,
  rest: Partial<ClusterRecord> = {},
) {
  const next = withKeyring({ ...record.data, ...rest }, made)
  return [replace(record, record, next.record), replace(key('keyring'), own, next.keyring)] as const
}
