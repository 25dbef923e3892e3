import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { inject } from 'vitest'
import { declaredUsesOfFunction } from '../../../infra/build/uses.ts'
import { createEngineClient, createEngineTables } from '../../../infra/local/engine/engine.ts'
import { createKmsCipher } from '../../../shared/adapters/aws/cipher.ts'
import { guardPorts } from '../../../shared/adapters/aws/guard.ts'
import { createKmsKeyFactory } from '../../../shared/adapters/aws/key-factory.ts'
import { createCallMeter } from '../../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../../shared/adapters/aws/table.ts'
import { createTableSend } from '../../../shared/adapters/aws/wire/tables.ts'
import { endOwnEpoch } from '../../../shared/journal/density.ts'
import { generationOfExpiry, ttlOfGeneration } from '../../../shared/journal/generation.ts'
import type { JournalHead } from '../../../shared/journal/head.ts'
import type { ItemPlace, Journal, TransactionElement } from '../../../shared/journal/journal.ts'
import { createNoopEntry, type EntryChange } from '../../../shared/journal/journal-entry.ts'
import {
  bucketMarkText,
  compareLineages,
  formatEpoch,
  positionText,
} from '../../../shared/journal/position.ts'
import { headMoves } from '../../../shared/journal/transitions.ts'
import {
  addTreeBucket,
  computeBucketDeltas,
  computeItemLeaf,
  readStoredLeaf,
  readStoredLeafInTree,
} from '../../../shared/journal/tree.ts'
import {
  generateSignerKey,
  makeActivationJwt,
  parseSignerKey,
} from '../../../shared/link/activation-token.ts'
import { generateLinkKeyPairs, linkPublicKeysOf, parseLinkKeyPairs } from '../../../shared/link/pair.ts'
import { serveTreeHashes } from '../../../shared/link/serve/reading.ts'
import { LinkRefused } from '../../../shared/link/source.ts'
import type { SourceLink } from '../../../shared/link/source-link.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { ClusterRead } from '../../../shared/ports.ts'
import type { ConnectToPeer } from '../../../shared/replication/secondary/connect.ts'
import {
  createFollowerSession,
  type Follower,
  sendHeartbeat,
} from '../../../shared/replication/secondary/follower.ts'
import { createItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'
import type { Doing } from '../../builders/journal.ts'
import { portsWith } from '../../builders/ports.ts'
import { asFunction, refusedCall } from '../iam/judge.ts'
import { leanSend } from '../service/lean-client.ts'
import { everythingIn } from '../tables/everything.ts'
import { noBrokenHead } from '../tables/heads.ts'
import { memoryEngine } from '../tables/memory-engine.ts'
import { having } from './member-ports.ts'
import { ownKms } from './own-kms.ts'
import { engineOf } from './transport.ts'

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
const REGION = 'us-east-1'

/** Tests with large tables use the real engine. */
const isReal = process.env['ENGINE'] === 'real' || process.env['LONG'] !== undefined

/**
 * A cluster with the parts that replication uses: its own tables, in memory unless `ENGINE=real`, and a clock
 * that tests set.
 */
export type Member = Awaited<ReturnType<typeof member>>

export async function member(clock = { ms: Date.now() }) {
  const { tables, send } = isReal ? await engineTables() : memoryTables()
  const [id, treeId] = [randomUUID(), randomUUID().slice(0, 8)]
  const around = {
    tables,
    clock: {
      now: () => clock.ms,
      // time advances at once, but other tasks get their turn
      sleep: (ms: number) => {
        clock.ms += ms
        return new Promise<void>(resolve => setTimeout(resolve, 1))
      },
    },
    entropy: { bytes: randomBytes, uuid: randomUUID },
    meter: createCallMeter(),
    log: { error: noBrokenHead },
  }
  const { store, journal } = createDynamoTables(around, send)
  const as = async (): Promise<ClusterRead> => ({
    record: {} as ClusterRead['record'],
    readAt: clock.ms,
  })
  const kms = ownKms()
  const { entropy } = around
  const keys = {
    cipher: createKmsCipher({ store, clock: around.clock, entropy, kms }),
    keyFactory: createKmsKeyFactory({ keyArn: 'own', entropy, kms }),
  }
  return { id, treeId, journal, store, turn: clock, as, ...around, ...keys }
}

/** Returns a cluster as one of its functions sees it: with the policies of the function's role. */
export function memberAs(one: Member, folder: string): Member {
  const guarded = guardPorts(portsWith(one), declaredUsesOfFunction(folder)) as unknown as Member
  const [store, journal] = [judgedAs(folder, guarded.store), judgedAs(folder, guarded.journal)]
  return having(guarded, { store, journal })
}

const judgedAs = <T extends object>(folder: string, port: T): T =>
  new Proxy(port, {
    get: (all, name) => {
      const member: unknown = Reflect.get(all, name)
      return typeof member === 'function'
        ? (...given: unknown[]) => asFunction(folder, () => member.apply(all, given) as unknown)
        : member
    },
  })

/** Creates tables in the DynamoDB engine that all tests of a run share. */
async function engineTables() {
  const { engine, model } = inject('ground')
  const suffix = randomUUID()
  const tables = model.tables.map(({ ttl: _, ...table }) => ({ ...table, name: `${table.name}-${suffix}` }))
  await createEngineTables(createEngineClient(engine, REGION, credentials), tables)
  const nameOf = (word: string) => tables.find(({ name }) => name.toLowerCase().includes(word))?.name ?? ''
  return {
    tables: { data: nameOf('data'), cluster: nameOf('cluster') },
    send: leanSend(engine, credentials.accessKeyId),
  }
}

/** Creates tables in memory, which behave as the engine's tables do (`memory-engine.test.ts`). */
function memoryTables() {
  const engine = engineOf(memoryEngine())
  const send = createTableSend(async (call, ms) => {
    // other tasks continue during a call
    await setImmediate()
    return refusedCall(call) ?? engine(call, ms)
  }, 1)
  return { tables: { data: 'data', cluster: 'cluster' }, send }
}

/** Initialises a cluster that is in no DR set, with a keyring of its own. */
export async function asAlone({ keyFactory, store, cipher, id, turn }: Member): Promise<void> {
  const { keyring } = await keyFactory.newKeyring(turn.ms)
  const record: ClusterRecord = {
    id,
    name: 'test',
    mode: 'disabled',
    initialisedAt: turn.ms,
    keyring: keyring.id,
    term: keyring.term,
    keyringEdition: 1,
  }
  await store.commit(
    [createItem(key('cluster'), record), createItem(key('keyring'), { ...keyring, edition: 1 })],
    {
      record,
      readAt: turn.ms,
    },
  )
  cipher.expectKeyring(record)
}

/** Makes a DR set: its name, and the keys of its primary. */
export const newSet = () => {
  const pair = parseLinkKeyPairs(generateLinkKeyPairs(randomBytes))
  const signer = parseSignerKey(generateSignerKey())
  const set = randomUUID()
  const token = (id: string, now: number): string =>
    makeActivationJwt(signer, {
      jti: randomUUID(),
      addr: 'http://east',
      id,
      set,
      iat: Math.floor(now / 1000),
      exp: Math.floor(now / 1000) + 600,
      primaryKey: linkPublicKeysOf(pair).signing.toString('base64url'),
      exchangeKey: linkPublicKeysOf(pair).exchange.toString('base64url'),
    })
  return { set, pair, token }
}

/** Returns a link to a primary that admits any cluster with a token, once. */
export function admitting(at: Member, { set, pair }: ReturnType<typeof newSet>): ConnectToPeer {
  const used = new Map<string, string>()
  return peer => ({
    ...linkTo(at),
    activate: async ({ token, cluster }) => {
      const exchange = linkPublicKeysOf(peer.pair).exchange
      const shown = exchange.toString('hex')
      if ((used.get(token) ?? shown) !== shown)
        throw new LinkRefused('permission_denied', 'the token has been used')
      used.set(token, shown)
      const { keyring } = await at.cipher.exportTo(exchange, set)
      const { epoch, lineage } = await headOf(at)
      const key64 = linkPublicKeysOf(pair).signing.toString('base64')
      return {
        set,
        primary: at.id,
        epoch,
        lineage,
        keyring,
        primaryKey: key64,
        addresses: ['http://east'],
        memberAddresses: [],
        recovery: { shares: 5, threshold: 3 },
        chain: [],
        statement: { set, issuer: at.id, subject: cluster, key: key64, epoch, signature: 'signed' },
      }
    },
    keyring: () => at.cipher.exportTo(linkPublicKeysOf(peer.pair).exchange, set),
  })
}

/** Begins a journal. */
export async function asPrimary({ journal, id }: Member): Promise<void> {
  await journal.moveHead(headMoves.begin(undefined, formatEpoch(1, id)))
}

/** Sets the head of a wiped cluster. */
export async function asWiped({ journal }: Member): Promise<void> {
  await journal.moveHead(headMoves.startEmpty(undefined, ''))
}

const headOf = async ({ journal }: Pick<Member, 'journal'>): Promise<JournalHead> => {
  const head = await journal.head()
  if (!head) throw new Error('there is no head')
  return head
}

/**
 * Commits changes as a primary does. @returns the position of the commit; undefined when the cluster no
 * longer writes
 */
export async function commit(at: Member, ...doings: Doing[]): Promise<number | undefined> {
  for (;;) {
    const { epoch } = await headOf(at)
    const given = await at.journal.allocate(epoch)
    if (given === 'refused') return undefined
    const own = await at.journal.readRaw(doings.map(([place]) => place))
    const { elements } = written(at, { epoch, ...given }, doings, own)
    if ((await at.journal.transact(elements)) === 'done') return given.seq
    await at.journal.putEntry(createNoopEntry({ epoch, seq: given.seq }, at.turn.ms))
  }
}

function written(
  at: Member,
  position: { epoch: string; seq: number; incarnation: number },
  doings: readonly Doing[],
  own: readonly (StoredItem | undefined)[],
) {
  const now = Math.floor(at.turn.ms / 1000)
  const pos = positionText(position)
  const pairs = doings
    .map((doing, index) => ({ doing, mine: own[index] }))
    .filter(({ doing: [, value], mine }) => value !== null || mine)
  const body = pairs.map(({ doing: [place, value, expires], mine }): EntryChange => {
    const item = value === null ? null : itemOf(place, value, pos, now, expires)
    return {
      ...place,
      prev: mine ? readStoredLeafInTree(mine, at.treeId) : null,
      next: item && readStoredLeaf(item),
      item,
    }
  })
  const mark = bucketMarkText(position.incarnation, pos)
  const elements: TransactionElement[] = [
    ...pairs.map(({ mine }, index) => {
      const { kind, pk, sk, item } = body[index] as EntryChange
      const put = item && addTreeBucket(item, at.treeId)
      return {
        kind: 'item' as const,
        item: { kind, pk, sk },
        put,
        if: mine ? { rev: mine.rev } : ('absent' as const),
      }
    }),
    { kind: 'entry', entry: { ...position, id: randomUUID(), at: at.turn.ms, body } },
    ...computeBucketDeltas(at.treeId, body, now).map(delta => ({ ...delta, mark })),
  ]
  return { elements }
}

function itemOf(place: ItemPlace, value: string, pos: string, now: number, expires?: number): StoredItem {
  const gen = generationOfExpiry(expires, now)
  const item: StoredItem = {
    ...place,
    rev: randomBytes(12).toString('base64url'),
    data: place.kind === 'client-config' ? { secretKey: value } : { value },
    pos,
    ...(expires === undefined ? {} : { expires }),
    ...(gen === null ? {} : { ttl: ttlOfGeneration(gen) }),
  }
  return { ...item, leaf: computeItemLeaf(item) }
}

/** Promotes a secondary as a forced promotion does, once all staged entries are applied. */
export async function claim(at: Member): Promise<void> {
  await at.journal.moveHead(headMoves.stopStaging(await headOf(at)))
  const head = await headOf(at)
  await at.journal.moveHead(headMoves.takeOver(head, formatEpoch(head.maxEpoch + 1, at.id)))
}

export async function closeHead(at: Member): Promise<void> {
  await at.journal.moveHead(headMoves.close(await headOf(at), '', 0))
}

/** Returns the last position before which no journal entry is missing. */
async function frontierOf(journal: Journal, { lineage, retainedFrom, last }: JournalHead): Promise<number> {
  const entries = await journal.entries(lineage, retainedFrom, last)
  const hole = entries.indexOf(undefined)
  return hole < 0 ? last : retainedFrom + hole
}

/** Returns the link to a primary as its secondary sees it, with a direct connection. */
export function linkTo(at: Member): SourceLink {
  const never = async () => {
    throw new Error('not asked for here')
  }
  return {
    activate: never,
    keyring: never,
    tree: request => serveTreeHashes(at.journal, request, at.treeId, at.turn.ms),
    handover: async ({ epoch }) => {
      const end = await endOwnEpoch(at, { epoch }, 'the successor')
      if (end?.epoch !== epoch) throw new LinkRefused('failed_precondition', 'this cluster is no primary')
      return { ...end, addresses: [], keyring: '' }
    },
    heartbeat: async () => {
      const head = await headOf(at)
      if (head.epoch !== head.ownEpoch) throw new Error('this cluster is not a primary')
      const { last, epoch, lineage } = head
      const frontier = await frontierOf(at.journal, head)
      const rest = {
        addresses: [],
        memberAddresses: [],
        apiAddress: '',
        canaryAt: 0,
        format: 1,
        roundTripMs: 0,
        skewMs: 0,
        term: '',
      }
      return { time: at.turn.ms, seq: last, frontier, epoch, lineage, ...rest }
    },
    entries: async ({ lineage, after }) => {
      const head = await headOf(at)
      if (head.epoch !== head.ownEpoch) throw new Error('this cluster is not a primary')
      const { forkPoint, diverged } = compareLineages(head, { lineage, last: after })
      if (diverged) return { kind: 'diverged', forkPoint }
      if (after < head.retainedFrom) return { kind: 'trimmed', retainedFrom: head.retainedFrom }
      const frontier = await frontierOf(at.journal, head)
      const entries = await at.journal.entries(head.lineage, after, Math.min(frontier, after + 700))
      const found = entries.filter(entry => entry !== undefined)
      return { kind: 'entries', entries: found, lineage: head.lineage, frontier }
    },
    items: async ({ keys }) => {
      const items = await at.journal.readRaw(keys)
      const { last, lineage, epoch } = await headOf(at)
      return { items, seq: last, lineage, epoch }
    },
    scan: async ({ segment, segments, cursor }) => {
      const page = await at.journal.scan({ index: segment, of: segments, from: cursor })
      return { ...page, frontier: await frontierOf(at.journal, await headOf(at)) }
    },
  }
}

/** Creates a follower on a secondary's tables, after a first heartbeat to its source. */
export async function follower(at: Member, link: SourceLink | undefined): Promise<Follower> {
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const { journal, store, clock, entropy } = at
  const one: Follower = {
    own: { journal, store, clock, entropy, log: silent, audit: { write: async () => undefined } },
    cluster: at.as,
    link,
    treeId: at.treeId,
    linkName: '',
    hasTime: () => true,
    holdTerms: async needs => needs,
    takeKeyring: async () => undefined,
    session: createFollowerSession(),
  }
  if (link) await sendHeartbeat(one)
  return one
}

/**
 * Returns the data that must be equal on both clusters: items as readers see them, and the sums of all
 * buckets.
 */
export const everythingOf = ({ journal, treeId, turn }: Pick<Member, 'journal' | 'treeId' | 'turn'>) =>
  everythingIn(journal, treeId, turn.ms)
