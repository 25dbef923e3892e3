import type { Head } from '../../journal/head.ts'
import type { Place } from '../../journal/journal.ts'
import type { PagePlace } from '../../journal/page-places.ts'
import { hasNeededTerms, type TermNeeds } from '../../journal/terms.ts'
import { decryptOwnKey } from '../../link/admin/keys.ts'
import { type EntriesAnswer, type HeartbeatAnswer, LinkRefused } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import {
  apiAddressOf,
  type ClusterRecord,
  type Keyring,
  linkAddress,
  type MadeKeyring,
  primaryOf,
  withKeyring,
} from '../../model/cluster.ts'
import type { Puller } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import type { OwnPorts } from '../apply/window.ts'
import type { SourceSample } from '../sync/compare.ts'
import type { Connect } from './connect.ts'

/** Journal entries that are requested before they are needed: those behind position `seq` of a head with this incarnation. */
export interface Prefetched {
  readonly seq: number
  readonly incarnation: number
  /**
   * undefined: the request failed. `stored`: the entries that come next are in the table already, and the head does not
   * count them yet
   */
  readonly arrival: Promise<{ readonly answer: EntriesAnswer; readonly stored: boolean } | undefined>
}

/**
 * The comparison with the primary after a full sync.
 * `none`: nothing is to be compared. `due`: the hashes of the own tree are not computed yet. `comparing`: page by page.
 */
export type Comparison =
  | { readonly kind: 'none' }
  /** `notBefore`: when to look for the hashes, epoch milliseconds */
  | { readonly kind: 'due'; readonly notBefore: number }
  | {
      readonly kind: 'comparing'
      /** pages whose hashes differ, and whose buckets are not compared yet */
      readonly pages: PagePlace[]
      /** keys in compared pages that seem to differ; keys that the primary has just written are among them */
      readonly suspects: Place[]
      /** some of the suspects, as the primary had them */
      sample?: SourceSample
      /** suspects that still differed after this cluster had applied all that the primary had written */
      readonly found: Place[]
    }

/** What a secondary works with: none of it changes while it follows by one link. */
interface FollowerSettings {
  readonly own: OwnPorts & Pick<Ports, 'store' | 'log' | 'audit'>
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
  /** merges a keyring that the primary sent into the own one */
  readonly takeKeyring: (sealed: string) => Promise<void>
}

/** The primary as of its last heartbeat answer. */
export interface Source extends HeartbeatAnswer {
  /** epoch that this cluster had written last when it sent the heartbeat; empty: it had applied another cluster's */
  readonly ownEpoch: string
  /** the primary keeps journal entries behind this position; 0: it has not refused older ones */
  from: number
}

/** How journal entries arrive. */
export interface Streaming {
  prefetched?: Prefetched
  /** position of the last staged journal entry, and when the primary wrote it, epoch milliseconds */
  lastStaged?: { readonly seq: number; readonly at: number }
  /** when a journal entry with changes was staged last, epoch milliseconds */
  lastChangeAt?: number
}

/** State of a secondary that follows by one link, in one run. */
export interface FollowerSession {
  /** key terms held when they were fetched last; absent: none were fetched in this run */
  held?: TermNeeds
  /** absent: the primary has to be asked before anything else, because it failed to answer, or its answer is outdated */
  source?: Source
  /** what status shows */
  readonly reported: Reported
  /** during a role change staged entries are applied, but no sync begins; absent: the cluster record was not read for it */
  roleChangePending?: boolean
  /** whether the own closed epoch has its exact end: no position below it is open */
  ownEpochClosed: boolean
  readonly streaming: Streaming
  /** absent: the segments of the last sync are not read yet */
  comparison?: Comparison
}

/** A secondary at work. */
export interface Follower extends FollowerSettings {
  readonly session: FollowerSession
}

/** Begins a session. @param before what the run before reported: the first heartbeat sends it on */
export const newSession = (before?: Pick<Puller, 'state' | 'synced'>): FollowerSession => ({
  ownEpochClosed: false,
  streaming: {},
  reported: { state: before?.state ?? 'idle', synced: before?.synced ?? 0 },
})

/** What a secondary reports of itself. */
interface Reported extends Pick<Puller, 'state' | 'fault'> {
  synced: number
}

/**
 * `worked`: go on at once; `waiting`: there is nothing to do yet; `stopped`: going on is useless; `replaced`: this cluster
 * follows by another link now.
 */
export type Progress = 'worked' | 'waiting' | 'stopped' | 'replaced'

/** Reports whether this cluster follows by another link now: then the head refuses everything that comes by this one. */
export const isReplaced = (
  { link, linkName }: Pick<Follower, 'link' | 'linkName'>,
  head: Pick<Head, 'link'>,
): boolean => link !== undefined && head.link !== linkName

/**
 * Reports whether this cluster was a primary itself since the source answered. A sync that begins by such an answer would
 * replace the journal while the successor may still fetch its rest.
 */
export const isOutdated = ({ ownEpoch }: Pick<Source, 'ownEpoch'>, head: Pick<Head, 'ownEpoch'>): boolean =>
  head.ownEpoch !== '' && head.ownEpoch !== ownEpoch

/** Stops following. @param fault why, as status shows it */
export function stopWith(reported: Reported, fault: string): Progress {
  reported.state = 'idle'
  reported.fault = fault
  return 'stopped'
}

/**
 * Fetches the key terms that the next items need, and the term that the source encrypts by now. Must run before those items
 * are stored.
 * @throws Error when the source does not send them
 */
export async function fetchTerms(
  { session, holdTerms }: Follower,
  { number, ids }: TermNeeds,
): Promise<void> {
  const newest = session.source?.term ?? ''
  const needs = newest === '' ? { number, ids } : { number, ids: [...ids, newest], active: newest }
  if (session.held && hasNeededTerms(session.held, needs)) return
  session.held = await holdTerms(needs)
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof LinkRefused && error.code === 'unavailable'

/** Sends the source this cluster's position, and keeps the position that it answers. */
export async function sendHeartbeat(follower: Follower): Promise<HeartbeatAnswer> {
  const { own, link, session, address = '', apiAddress = address } = follower
  if (!link) throw new Error('this cluster knows no primary')
  const head = await own.journal.head()
  const position = { epoch: head?.epoch ?? '', seq: head?.applied ?? 0 }
  const { ownTerm = '' } = (await follower.cluster())?.record ?? {}
  // a cluster that has claimed an epoch meanwhile has not given it up
  const maxEpoch = head && head.mode !== 'writing' ? head.maxEpoch : 0
  const heartbeat = () =>
    link.heartbeat({ position, state: session.reported.state, address, apiAddress, ownTerm, maxEpoch })
  // the primary refuses while it writes the same record, and accepts the repeated heartbeat
  const answer = await heartbeat().catch(error =>
    isUnavailable(error) ? heartbeat() : Promise.reject(error),
  )
  session.source = { ...answer, ownEpoch: head?.ownEpoch ?? '', from: session.source?.from ?? 0 }
  return answer
}

export type FollowerPorts = Pick<
  Ports,
  'store' | 'journal' | 'cipher' | 'keyFactory' | 'clock' | 'entropy' | 'log' | 'audit' | 'deployment'
>

/**
 * Makes a follower of the primary that the cluster record names; undefined when this cluster is no secondary.
 * @param hasTime whether there is time for another page of a sync
 * @param reported what the run before reported
 * @param until epoch milliseconds: the primary is not waited for any longer; absent: as long as each call may take
 */
export async function newFollower(
  ports: FollowerPorts,
  connect: Connect,
  { hasTime, reported, until }: { hasTime: () => boolean; reported?: Puller | undefined; until?: number },
): Promise<Follower | undefined> {
  const cluster = secondaryRecordReader(ports)
  const first = await cluster()
  const { treeId } = first?.record ?? {}
  if (!first || treeId === undefined) return undefined
  const link = await connectPrimary(first, ports, peer => connect({ ...peer, until }))
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
      return now && link ? fetchMissingTerm(ports, link, now, needs) : { number: 0, ids: [] }
    },
    takeKeyring: async sealed => {
      const now = await cluster()
      if (now) await mergeSealedKeyring(ports, now, sealed)
    },
    address: linkAddress(first.record, ports.deployment),
    apiAddress: apiAddressOf(first.record, ports.deployment),
    session: newSession(reported),
  }
}

/** Makes a reader of the cluster record, which reads it again before it is too old to commit with. */
function secondaryRecordReader({ store, clock, cipher }: FollowerPorts) {
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

async function connectPrimary({ record }: ClusterRead, { cipher }: FollowerPorts, connect: Connect) {
  const { set } = record
  const link = primaryOf(record)
  if (!link || !set) return undefined
  const pair = await decryptOwnKey(link.ownKey, cipher)
  const { secondaryId, primaryKey: otherKey, primaryAddr, primaryAddrs, ca } = link
  return connect({
    set,
    id: secondaryId,
    pair,
    otherKey,
    addresses: [...new Set([...primaryAddrs, primaryAddr])],
    ca,
  })
}

type KeyringPorts = Pick<Ports, 'store' | 'cipher' | 'keyFactory' | 'clock'>

/** Returns the needs that a keyring meets; given-up terms count as held. */
export const heldTermsOf = ({
  highestTerm,
  activeTerm,
  termIds,
  destroyedTerms = [],
}: Keyring): TermNeeds => ({
  number: highestTerm,
  ids: [...termIds, ...destroyedTerms],
  active: activeTerm,
})

/**
 * Fetches the keyring of the primary, and merges it into the own one, if this cluster does not hold the terms that it
 * needs. The keyring is stored before anything of these terms is.
 * @returns the terms that are held then
 * @throws Error if the primary does not send them
 */
async function fetchMissingTerm(
  ports: KeyringPorts,
  link: Pick<SourceLink, 'keyring'>,
  cluster: ClusterRead,
  needs: TermNeeds,
): Promise<TermNeeds> {
  const [own] = await ports.store.read([key('keyring')])
  if (!own) throw new Error('there is no keyring')
  const held = heldTermsOf(own.data)
  // a number that is not higher is of a term that this cluster has, or the item that names the term comes with it
  if (hasNeededTerms(held, needs)) return held
  const { keyring: sealed } = await link.keyring({ term: needs.number })
  const united = heldTermsOf(await mergeSealedKeyring(ports, cluster, sealed))
  // a rotation since the primary's last answer may have made another term that encrypts
  if (!hasNeededTerms(united, { ...needs, active: undefined }))
    throw new Error('the primary does not give a term that it writes by')
  return united
}

/**
 * Merges the primary's keyring into the own one, if this cluster still follows by the same link.
 * @param sealed as the primary sent it
 * @returns the stored keyring
 */
async function mergeSealedKeyring(
  ports: KeyringPorts,
  cluster: ClusterRead,
  sealed: string,
): Promise<Keyring> {
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
  await ports.store.commit(replaceKeyring(record, own, keyring), cluster)
  const [now] = await ports.store.read([key('keyring')])
  return now?.data ?? own.data
}

/** Returns the changes that give a cluster another keyring. @param rest further changes of the record */
export function replaceKeyring(
  record: Item<'cluster'>,
  own: Item<'keyring'> | undefined,
  made: MadeKeyring,
  rest: Partial<ClusterRecord> = {},
) {
  const next = withKeyring({ ...record.data, ...rest }, made)
  return [replace(record, record, next.record), replace(key('keyring'), own, next.keyring)] as const
}
