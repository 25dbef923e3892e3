import { randomBytes, randomUUID } from 'node:crypto'
import { declaredUsesOfFunction } from '../../../infra/build/uses.ts'
import { guardPorts } from '../../../shared/adapters/aws/guard.ts'
import { createCallMeter } from '../../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../../shared/adapters/aws/table.ts'
import { createTableSend } from '../../../shared/adapters/aws/wire/tables.ts'
import { fromWireItem, toWireItem } from '../../../shared/adapters/aws/wire/values.ts'
import { headMoves } from '../../../shared/journal/transitions.ts'
import { type ClusterRecord, recordKeepsJournal } from '../../../shared/model/cluster.ts'
import type { ClusterRead, CommitOptions, ItemStore } from '../../../shared/ports.ts'
import type { Change } from '../../../shared/storage/changes.ts'
import type { Item, Key, Kind } from '../../../shared/storage/kinds.ts'
import {
  fromStoredItem,
  itemAsStored,
  type StoredItem,
  tableNameOf,
} from '../../../shared/storage/requests.ts'
import { portsWith } from '../../builders/ports.ts'
import { noBrokenHead } from './heads.ts'
import { memoryEngine } from './memory-engine.ts'
import type { WireItem } from './wire-values.ts'

const tables = { data: 'data', cluster: 'cluster', ceremony: 'ceremony' } as const

export interface MemoryOptions {
  /** the results of the first commits: a forced conflict, or the real result of the commit */
  verdicts?: ('done' | 'conflict')[]
  /** epoch milliseconds; absent: time stands still, and every commit has just read the cluster record */
  now?: () => number
}

export type MemoryStore = ReturnType<typeof memoryStore>

/** The store that tests call, with the stored cluster record and without policy checks. */
type OwnStore = Omit<ItemStore, 'commit'> & {
  commit(
    changes: readonly Change[],
    cluster?: ClusterRead,
    options?: CommitOptions,
  ): ReturnType<ItemStore['commit']>
}

/**
 * The store of tests that need no whole service: the real adapter, with tables in an in-memory engine that
 * answers like the real engine (`memory-engine.test.ts`). `reads` lists kinds and sort keys, a text for each
 * read. `commits` lists the successful commits. `stored` returns the items of the tables. `as` returns the
 * store that the function of a folder gets, with the function's declared uses.
 *
 * Tests have no other replacement for the store. If a test needs a store that fails, is slow, returns pages
 * of a chosen size or counts concurrent calls, the test replaces one method of this store.
 */
export function memoryStore(items: readonly Item[] = [], { verdicts = [], now }: MemoryOptions = {}) {
  const memory = memoryEngine()
  const put = (item: Item): void => memory.fill(tableNameOf(tables, item), [wireOf(itemAsStored(item))])
  items.forEach(put)
  const clock = { now: now ?? (() => 0), sleep: async () => undefined }
  const { store, journal } = createDynamoTables(
    {
      tables,
      clock,
      entropy: { bytes: randomBytes, uuid: randomUUID },
      meter: createCallMeter(),
      log: { error: noBrokenHead },
    },
    createTableSend(async ({ operation, input }) => memory.answer(operation, input)),
  )
  const looked = lookAt(memory, () => clock.now() / 1000)
  const reads: string[] = []
  const commits: (readonly Change[])[] = []
  const noting: OwnStore = {
    ...store,
    read: keys => {
      reads.push(keys.map(({ kind, sk }) => `${kind} ${sk}`).join(', '))
      return store.read(keys)
    },
    commit: async (changes, cluster, options) => {
      const record = cluster?.record ?? looked.of('cluster')[0]?.data ?? ({} as ClusterRecord)
      const read = { record, readAt: now ? (cluster?.readAt ?? now()) : 0 }
      const { epoch } = record
      if (recordKeepsJournal(record) && epoch && !(await journal.head()))
        await journal.moveHead(headMoves.begin(undefined, epoch))
      const verdict =
        verdicts.shift() === 'conflict' ? 'conflict' : await store.commit(changes, read, options)
      if (verdict === 'done') commits.push(changes)
      return verdict
    },
  }
  const remove = ({ kind, pk, sk }: Key): void => {
    memory.answer('DeleteItem', { TableName: tableNameOf(tables, { kind }), Key: wireOf({ pk, sk }) })
  }
  const clear = () => looked.all().forEach(remove)
  return {
    store: noting,
    as: (folder: string): ItemStore =>
      guardPorts(portsWith({ store: noting }), declaredUsesOfFunction(folder)).store,
    reads,
    commits,
    stored: { put, remove, clear, ...looked },
  }
}

const wireOf = (item: object): WireItem => toWireItem(item) as WireItem

/**
 * Returns the stored items, without the journal.
 * @param seconds the present time
 */
function lookAt({ items }: ReturnType<typeof memoryEngine>, seconds: () => number) {
  const itemOf = (wire: WireItem): Item | undefined => {
    const stored = fromWireItem(wire, 'rounded') as unknown as StoredItem
    return fromStoredItem(stored.kind, stored, seconds())
  }
  const all = (): Item[] =>
    Object.values(tables)
      .flatMap(name => items(name))
      .filter(({ data }) => data)
      .flatMap(wire => itemOf(wire) ?? [])
  return {
    all,
    of: <K extends Kind>(kind: K): Item<K>[] => all().filter(item => item.kind === kind) as Item<K>[],
    at: <K extends Kind>({ kind, pk, sk }: Key<K>): Item<K> | undefined =>
      all().find(one => one.kind === kind && one.pk === pk && one.sk === sk) as Item<K> | undefined,
  }
}
