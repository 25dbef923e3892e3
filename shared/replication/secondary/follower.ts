import type { JournalHead } from '../../journal/head.ts'
import type { ItemPlace } from '../../journal/journal.ts'
import type { TreePagePlace } from '../../journal/page-places.ts'
import { hasNeededTerms, type TermNeeds } from '../../journal/terms.ts'
import { decryptOwnLinkKey } from '../../link/admin/keys.ts'
import { type EntriesAnswer, type HeartbeatAnswer, LinkRefused } from '../../link/source.ts'
import type { SourceLink } from '../../link/source-link.ts'
import {
  apiAddressOf,
  type ClusterRecord,
  type Keyring,
  linkAddressOf,
  linkToPrimaryOf,
  type MadeKeyring,
  setRecordKeyring,
} from '../../model/cluster.ts'
import type { PullerState } from '../../model/secondary.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { bounds } from '../../values/bounds.ts'
import type { FollowingPorts } from '../apply/window.ts'
import type { SourceSample } from '../sync/compare.ts'
import type { ConnectToPeer } from './connect.ts'

/** Journal entries that are requested in advance: the entries after position `seq` of a head with this incarnation. */
export interface PrefetchedEntries {
  readonly seq: number
  readonly incarnation: number
  /**
   * undefined: the request for journal entries failed. `stored`: the entries are in the table, and the head does
   * not include them yet
   */
  readonly arrival: Promise<{ readonly answer: EntriesAnswer; readonly stored: boolean } | undefined>
}

/**
 * The comparison with the primary after a full sync. `none`: the secondary has nothing to compare. `due`: the
 * comparison waits for the hashes of this cluster's tree. `comparing`: the secondary compares page by page.
 */
export type ComparisonState =
  | { readonly kind: 'none' }
  /** `notBefore`: time of the next look at the hashes, epoch milliseconds */
  | { readonly kind: 'due'; readonly notBefore: number }
  | {
      readonly kind: 'comparing'
      /** `pages` have different hashes, and their buckets are not compared yet */
      readonly pages: TreePagePlace[]
      /** `suspects` are keys in compared pages that seem to differ, including keys that the primary has just written */
      readonly suspects: ItemPlace[]
      /** `sample` has some of the suspects as the primary had them */
      sample?: SourceSample
      /** `found`: suspects that still differed after this cluster had applied the primary's entries */
      readonly found: ItemPlace[]
    }

/** The dependencies of a secondary. The dependencies stay the same while the secondary follows by one link. */
interface FollowerSettings {
  readonly own: FollowingPorts & Pick<Ports, 'store' | 'log' | 'audit'>
  /**
   * `cluster` returns the cluster record, fresh enough to commit with; undefined if this cluster is no longer a
   * secondary
   */
  readonly cluster: () => Promise<ClusterRead | undefined>
  /** `link` is absent if this cluster has no primary */
  readonly link: SourceLink | undefined
  /** `linkName` is the name of the link; if the head names another link, this link was replaced */
  readonly linkName: string
  /** `address` has the addresses of this cluster for the link and for clients; absent: unknown */
  readonly address?: string
  readonly apiAddress?: string
  /** id of this cluster's tree */
  readonly treeId: string
  readonly hasTime: () => boolean
  /** `holdTerms` fetches the terms that items need, before these items are stored; returns the terms held afterwards */
  readonly holdTerms: (needs: TermNeeds) => Promise<TermNeeds>
  /** `takeKeyring` merges a keyring that the primary sent into this cluster's */
  readonly takeKeyring: (sealed: string) => Promise<void>
}

/** The primary as of its last heartbeat answer. */
export interface PrimaryState extends HeartbeatAnswer {
  /**
   * `ownEpoch` is the epoch that this cluster had written last when it sent the heartbeat; empty: it had since
   * applied another cluster's entries
   */
  readonly ownEpoch: string
  /** `from`: the primary keeps journal entries after this position; 0: the primary has not refused any position */
  from: number
}

/** State of the stream of journal entries. */
export interface StreamState {
  prefetched?: PrefetchedEntries
  /**
   * `lastStaged`: position of the last staged journal entry, and the time at which the primary wrote the entry,
   * epoch milliseconds
   */
  lastStaged?: { readonly seq: number; readonly at: number }
  /** when a journal entry with changes was last staged, epoch milliseconds */
  lastChangeAt?: number
}

/** The state of a secondary that follows by one link, in one run. */
export interface FollowerSession {
  /** `held`: key terms held after the last fetch; absent: this run has fetched no terms */
  held?: TermNeeds
  /** `source` is absent if the primary has not answered, or its answer is outdated: the run sends a heartbeat first */
  source?: PrimaryState
  /** `link` is the state that status shows */
  readonly reported: Reported
  /** `roleChangePending`: during a role change staged entries are applied, but no sync begins; absent: not read yet */
  roleChangePending?: boolean
  /**
   * `ownEpochClosed`: whether the own closed epoch has its exact end, so that every position of the epoch is
   * decided
   */
  ownEpochClosed: boolean
  readonly streaming: StreamState
  /** `comparison` is absent until the segments of the last sync are read */
  comparison?: ComparisonState
}

/** A secondary at work. */
export interface Follower extends FollowerSettings {
  readonly session: FollowerSession
}

/**
 * Begins a session with the primary. @param before report of the previous run; the first heartbeat repeats this
 * report
 */
export const createFollowerSession = (before?: Pick<PullerState, 'state' | 'synced'>): FollowerSession => ({
  ownEpochClosed: false,
  streaming: {},
  reported: { state: before?.state ?? 'idle', synced: before?.synced ?? 0 },
})

/** State that a secondary reports to status. */
interface Reported extends Pick<PullerState, 'state' | 'fault'> {
  synced: number
}

/**
 * `worked`: the next step follows at once. `waiting`: the secondary has nothing to do yet. `stopped`: further steps
 * are useless. `replaced`: another link has replaced this link.
 */
export type FollowerProgress = 'worked' | 'waiting' | 'stopped' | 'replaced'

/**
 * Reports whether another link has replaced this link. After the replacement the head rejects every write of this
 * run.
 */
export const isLinkReplaced = (
  { link, linkName }: Pick<Follower, 'link' | 'linkName'>,
  head: Pick<JournalHead, 'link'>,
): boolean => link !== undefined && head.link !== linkName

/**
 * Reports whether this cluster was a primary itself after the source's answer. A sync that begins with such an old
 * answer would replace the journal while the successor may still fetch the journal's rest.
 */
export const isHeartbeatOutdated = (
  { ownEpoch }: Pick<PrimaryState, 'ownEpoch'>,
  head: Pick<JournalHead, 'ownEpoch'>,
): boolean => head.ownEpoch !== '' && head.ownEpoch !== ownEpoch

/** Stops following. @param fault the reason that status shows */
export function stopFollower(reported: Reported, fault: string): FollowerProgress {
  reported.state = 'idle'
  reported.fault = fault
  return 'stopped'
}

/**
 * Fetches the key terms that the next items need, and the term that the source currently encrypts with. The caller
 * must fetch the terms before it stores items of these terms.
 * @throws Error if the source does not send these key terms
 */
export async function fetchNeededTerms(
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

/** Sends this cluster's position to the source, and keeps the position in the source's answer. */
export async function sendHeartbeat(follower: Follower): Promise<HeartbeatAnswer> {
  const { own, link, session, address = '', apiAddress = address } = follower
  if (!link) throw new Error('this cluster knows no primary')
  const head = await own.journal.head()
  const position = { epoch: head?.epoch ?? '', seq: head?.applied ?? 0 }
  const { ownTerm = '' } = (await follower.cluster())?.record ?? {}
  // a cluster that has opened an epoch meanwhile does not report the epoch's number, because it has not given that
  // epoch up
  const maxEpoch = head && head.mode !== 'writing' ? head.maxEpoch : 0
  const heartbeat = () =>
    link.heartbeat({ position, state: session.reported.state, address, apiAddress, ownTerm, maxEpoch })
  // the primary refuses while another request writes the same record, and accepts the repeated heartbeat
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
 * Makes a follower of the primary in the cluster record; undefined if this cluster is not a secondary.
 * @param hasTime reports whether another page of a sync fits into the remaining time
 * @param reported report of the previous run
 * @param until epoch milliseconds: deadline of all calls to the primary; absent: each call has its own timeout
 */
export async function createFollower(
  ports: FollowerPorts,
  connect: ConnectToPeer,
  {
    hasTime,
    reported,
    until,
  }: { hasTime: () => boolean; reported?: PullerState | undefined; until?: number },
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
    address: linkAddressOf(first.record, ports.deployment),
    apiAddress: apiAddressOf(first.record, ports.deployment),
    session: createFollowerSession(reported),
  }
}

/** Returns a function that returns the cluster record, and reads the record again before it is too old for a commit. */
function secondaryRecordReader({ store, clock, cipher }: FollowerPorts) {
  let read: ClusterRead | undefined
  return async (): Promise<ClusterRead | undefined> => {
    if (read && clock.now() - read.readAt <= bounds.RECORD_REREAD_MS) return read
    const readAt = clock.now()
    const [item] = await store.read([key('cluster')])
    if (item) cipher.expectKeyring(item.data)
    read = item?.data.mode === 'secondary' ? { record: item.data, readAt } : undefined
    return read
  }
}

async function connectPrimary({ record }: ClusterRead, { cipher }: FollowerPorts, connect: ConnectToPeer) {
  const { set } = record
  const link = linkToPrimaryOf(record)
  if (!link || !set) return undefined
  const pair = await decryptOwnLinkKey(link.ownKey, cipher)
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

/** Returns the terms that a keyring holds. Destroyed terms of the keyring count as held. */
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
 * Fetches the primary's keyring and merges it into this cluster's, if this cluster does not hold the needed terms.
 * The cluster stores the keyring before anything that these terms encrypted.
 * @returns the terms that this cluster holds afterwards
 * @throws Error if the primary does not send the terms
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
  // a term number that is not higher belongs to a term that this cluster holds, or that comes with the next items
  if (hasNeededTerms(held, needs)) return held
  const { keyring: sealed } = await link.keyring({ term: needs.number })
  const united = heldTermsOf(await mergeSealedKeyring(ports, cluster, sealed))
  // a rotation since the primary's last answer may have added a newer term
  if (!hasNeededTerms(united, { ...needs, active: undefined }))
    throw new Error('the primary does not send a key term with which it encrypts')
  return united
}

/**
 * Merges the primary's keyring into this cluster's keyring, unless the link has been replaced.
 * @param sealed the keyring as the primary sent it
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
  const pair = await decryptOwnLinkKey(link.ownKey, ports.cipher)
  const { keyring: received } = await ports.keyFactory.importFrom(
    sealed,
    pair.exchange,
    set,
    ports.clock.now(),
  )
  if (record.data.keyring !== received.id) throw new Error('the primary gave the keyring of another set')
  // another link has stored another primary's keyring meanwhile
  if (record.data.link?.ownKey !== link.ownKey) return own.data
  const { keyring } = await ports.keyFactory.unite(received, own.data, ports.clock.now())
  // another run may have stored a keyring at this moment, so this run reads the keyring again
  await ports.store.commit(replaceFollowerKeyring(record, own, keyring), cluster)
  const [now] = await ports.store.read([key('keyring')])
  return now?.data ?? own.data
}

/** Returns the changes that replace a cluster's keyring. @param rest further changes of the record */
export function replaceFollowerKeyring(
  record: Item<'cluster'>,
  own: Item<'keyring'> | undefined,
  made: MadeKeyring,
  rest: Partial<ClusterRecord> = {},
) {
  const next = setRecordKeyring({ ...record.data, ...rest }, made)
  return [replaceItem(record, record, next.record), replaceItem(key('keyring'), own, next.keyring)] as const
}
