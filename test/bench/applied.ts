import { randomBytes, randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { createEngineClient, createEngineTables } from '../../infra/local/engine/engine.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import type { AssemblyModel } from '../../infra/local/template/assembly.ts'
import { createCallMeter } from '../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../shared/adapters/aws/table.ts'
import { generationOfExpiry, ttlOfGeneration } from '../../shared/journal/generation.ts'
import type { JournalHead } from '../../shared/journal/head.ts'
import type { EntryChange, JournalEntry } from '../../shared/journal/journal-entry.ts'
import { formatEpoch, positionText } from '../../shared/journal/position.ts'
import { headMoves } from '../../shared/journal/transitions.ts'
import { computeItemLeaf, readStoredLeaf } from '../../shared/journal/tree.ts'
import type { SourceLink } from '../../shared/link/source-link.ts'
import { takeFollowStep } from '../../shared/replication/secondary/follow.ts'
import {
  createFollowerSession,
  type Follower,
  sendHeartbeat,
} from '../../shared/replication/secondary/follower.ts'
import { key } from '../../shared/storage/kinds.ts'
import type { StoredItem } from '../../shared/storage/requests.ts'
import { startStorageTap } from '../support/faults/storage-tap-port.ts'
import { sendTo } from '../support/tables/store.ts'
import { childrenMs } from './children.ts'

/**
 * The rate at which a secondary applies journal entries of ec2 logins. Each entry has a token and an
 * access-list entry.
 */
export interface AppliedRate {
  entries: number
  perSecond: number
  /** milliseconds of processor time for a journal entry, of this process and of its children (the engine) */
  cpuMs: number
  engineMs: number
}

/** Credentials of all calls to the bench's own engine. */
export const benchCredentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }
const DAY = 86_400
const EPOCH = formatEpoch(1, randomUUID())

/**
 * Makes the journal entries that logins of a fleet leave. @param instances number of instances that log in in
 * turn
 */
function loginEntries(count: number, instances: number): JournalEntry[] {
  const at = Date.now()
  const now = Math.floor(at / 1000)
  const entries = new Map<number, StoredItem>()
  return Array.from({ length: count }, (_, index) => {
    const seq = index + 1
    const pos = positionText({ epoch: EPOCH, seq })
    const make = (place: StoredItem, dies: boolean, expires: number): StoredItem => {
      const gen = dies ? generationOfExpiry(expires, now) : null
      const item = { ...place, expires, pos, ...(gen === null ? {} : { ttl: ttlOfGeneration(gen) }) }
      return { ...item, leaf: computeItemLeaf(item) }
    }
    const plain = (place: ReturnType<typeof key>, bytes: number): StoredItem => ({
      kind: place.kind,
      pk: place.pk,
      sk: place.sk,
      rev: randomBytes(12).toString('base64url'),
      data: { text: randomBytes(bytes / 2).toString('hex'), policies: ['default', 'dev'], role: 'fleet' },
    })
    const token = make(plain(key('token', randomBytes(16).toString('hex')), 440), true, now + 30 * DAY)
    const instance = index % instances
    const entry = make(plain(key('access', 'mount', `i-${instance}`), 160), false, now + DAY)
    const change = (item: StoredItem, before?: StoredItem): EntryChange => ({
      kind: item.kind,
      pk: item.pk,
      sk: item.sk,
      prev: before ? readStoredLeaf(before) : null,
      next: readStoredLeaf(item),
      item,
    })
    const body = [change(token), change(entry, entries.get(instance))]
    entries.set(instance, entry)
    return { epoch: EPOCH, seq, id: randomBytes(12).toString('base64url'), at, body }
  })
}

const CELLS_AT_ONCE = 1200

/** Returns a primary that has all journal entries in memory, so that the link costs nothing. */
function linkOver(entries: readonly JournalEntry[]): SourceLink {
  const lineage = [[EPOCH, 1]] as const
  const never = async () => {
    throw new Error('not asked for here')
  }
  return {
    activate: never,
    keyring: never,
    tree: never,
    handover: never,
    items: never,
    scan: never,
    heartbeat: async () => ({
      time: Date.now(),
      seq: entries.length,
      frontier: entries.length,
      epoch: EPOCH,
      lineage,
      addresses: [],
      memberAddresses: [],
      apiAddress: '',
      canaryAt: 0,
      format: 1,
      roundTripMs: 0,
      skewMs: 0,
      term: '',
    }),
    entries: async ({ after }) => ({
      kind: 'entries',
      entries: entries.slice(after, after + CELLS_AT_ONCE),
      lineage,
      frontier: Math.min(entries.length, after + CELLS_AT_ONCE),
    }),
  } as SourceLink
}

/**
 * Lets a secondary with its own tables catch up with a number of logins.
 * @param takesFor milliseconds for which a transaction locks its items at least and refuses others, as on
 * AWS; absent: no lock
 */
export async function appliedRate(
  { engine, model }: { engine: string; model: AssemblyModel },
  { count, instances, takesFor }: { count: number; instances: number; takesFor?: number },
): Promise<AppliedRate> {
  const suffix = randomUUID()
  const named = model.tables.map(table => ({ ...table, name: `${table.name}-${suffix}` }))
  await createEngineTables(createEngineClient(engine, HOME_ACCOUNT.region, benchCredentials), named)
  const tap =
    takesFor === undefined
      ? undefined
      : await startStorageTap(engine, { keys: [benchCredentials], controlToken: suffix })
  tap?.tap.imitateConflicts(takesFor)
  const nameOf = (word: string) => named.find(({ name }) => name.toLowerCase().includes(word))?.name ?? ''
  const clock = { now: Date.now, sleep: async (ms: number) => void (await setTimeout(ms)) }
  const entropy = { bytes: randomBytes, uuid: randomUUID }
  const say = () => undefined
  const log = { info: say, warn: say, error: say }
  const { store, journal } = createDynamoTables(
    {
      tables: { data: nameOf('data'), cluster: nameOf('cluster') },
      clock,
      entropy,
      meter: createCallMeter(),
      log,
    },
    sendTo(tap?.url ?? engine, benchCredentials),
  )
  await journal.moveHead(headMoves.startEmpty(undefined, ''))
  const head = (await journal.head()) as JournalHead
  const nothing = { epoch: EPOCH, seq: 0 }
  const sync = { what: 'all', start: 0, lineage: [[EPOCH, 1]], hasFetched: false, end: nothing } as const
  await journal.moveHead(headMoves.endSync(head, sync))
  const entries = loginEntries(count, instances)
  const link = linkOver(entries)
  const follower: Follower = {
    own: {
      journal,
      store,
      clock,
      entropy,
      audit: { write: async () => undefined },
      log,
    },
    cluster: async () => undefined,
    link,
    linkName: '',
    treeId: suffix.slice(0, 8),
    hasTime: () => true,
    holdTerms: async needs => needs,
    takeKeyring: async () => undefined,
    session: createFollowerSession(),
  }
  await sendHeartbeat(follower)
  const [began, before, engineBefore] = [performance.now(), process.cpuUsage(), childrenMs()]
  while (((await journal.head())?.applied ?? 0) < count) await takeFollowStep(follower)
  const { user, system } = process.cpuUsage(before)
  const perSecond = (count / (performance.now() - began)) * 1000
  const engineMs = (childrenMs() - engineBefore) / count
  await tap?.close()
  return { entries: count, perSecond, cpuMs: (user + system) / 1000 / count, engineMs }
}
