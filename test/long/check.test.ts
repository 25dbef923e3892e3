import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { TransactionElement } from '../../shared/journal/journal.ts'
import { treePagePk } from '../../shared/journal/page-places.ts'
import { treeRootsPk } from '../../shared/journal/refresh.ts'
import { type TreeBucket, treeBucketOf, treePagePkByName } from '../../shared/journal/tree.ts'
import { findTreeFaults } from '../../shared/replication/check/examine.ts'
import { areFindingsCorrupt, toTreeFindings } from '../../shared/replication/check/findings.ts'
import { beginTreeView, type CheckedTreeView } from '../../shared/replication/check/view.ts'
import { putItem, removeItem } from '../../shared/storage/changes.ts'
import { key } from '../../shared/storage/kinds.ts'
import type { StoredItem } from '../../shared/storage/requests.ts'
import { grown, grownItem } from '../support/set/grown.ts'
import { grownJournal } from '../support/set/grown-journal.ts'
import { member } from '../support/set/pair.ts'
import { clusterSet } from '../support/set/set.ts'

// Tests the check of a large tree: its findings, its time and its memory.

/** Numbers of items that are generated on reading, and of items that are stored in the engine. */
const SIZES = (process.env['SIZES'] ?? '10000,100000,1000000').split(',').map(Number)
const STORED = Number(process.env['STORED'] ?? 10_000)
/**
 * Items for a hundred checks with concurrent writers, which delete a fifth of the items and restore
 * them.
 */
const ITEMS = Number(process.env['ITEMS'] ?? 120_000)
const TOGETHER = 20
/**
 * The pause after each page, because in-memory tables answer at once, but a check of 10⁵ items should take
 * ten seconds.
 */
const REST_MS = 100
const MEGABYTE = 2 ** 20
/** Time limit of a test. A million items are generated twice, which takes long on a busy machine. */
const HOUR = 3_600_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const print = (text: string) => process.stderr.write(`${text}\n`)

/** Tables with generated items, and functions that change them without the journal. */
interface Grown extends Pick<CheckedTreeView, 'journal' | 'clock' | 'treeId'> {
  /** epoch seconds at which the items were created */
  now: number
  overwrite(index: number, change: (item: StoredItem) => StoredItem): Promise<void>
  /** adds one to the sums of a bucket */
  raise(bucket: TreeBucket): Promise<void>
}

async function inMemory(count: number): Promise<Grown> {
  const treeId = 'life'
  const clock = { ms: Date.now() }
  const now = Math.floor(clock.ms / 1000)
  const { journal, overwrite, raise } = await grownJournal(treeId, count, now)
  const sleep = async (ms: number) => {
    clock.ms += ms
  }
  return {
    journal,
    treeId,
    now,
    clock: { now: () => clock.ms, sleep },
    overwrite: async (index, change) => overwrite(index, change),
    raise: async bucket => raise(bucket),
  }
}

async function inEngine(count: number): Promise<Grown> {
  const at = await member()
  const now = Math.floor(at.turn.ms / 1000)
  await grown(at, count)
  /** Repeats a write after a conflict, because the engine may be busy. */
  const written = async (...elements: readonly TransactionElement[]): Promise<void> => {
    for (;;) {
      const result = await at.journal.transact(elements)
      if (result === 'done') return
      expect(result).toBe('conflict')
    }
  }
  return {
    journal: at.journal,
    treeId: at.treeId,
    now,
    clock: at.clock,
    overwrite: async (index, change) => {
      const item = grownItem(index, at.treeId, now)
      const { kind, pk, sk, rev } = item
      await written({ kind: 'item', item: { kind, pk, sk }, put: change(item), if: { rev } })
    },
    raise: bucket => written({ kind: 'bucket', bucket, sums: new Map([['p', [1n, 0n, 0n]]]) }),
  }
}

/** Checks a tree, and returns its faults and the peak memory in megabytes. */
async function checked({ treeId, ...at }: Grown) {
  collect()
  const before = process.memoryUsage().heapUsed
  const began = performance.now()
  const used = process.cpuUsage()
  let most = 0
  let calls = 0
  const look = () => {
    collect()
    most = Math.max(most, process.memoryUsage().heapUsed - before)
  }
  const view = await beginTreeView(at, treeId)
  const faults = await findTreeFaults(view, async () => {
    calls += 1
    if (calls % 100 === 0) look()
  })
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(used)
  look()
  return { faults, seen: view.tally.seen, seconds, cpu: (user + system) / 1e6, held: most / MEGABYTE }
}

const roots = { replicated: '', local: '' }

test(
  'a check of the Merkle tree takes time in proportion to the items, and constant memory',
  async () => {
    const held: number[] = []
    for (const size of SIZES) {
      const result = await checked(await inMemory(size))
      expect(result).toMatchObject({ faults: [], seen: size })
      held.push(result.held)
      const { seconds, cpu } = result
      print(
        `${size} items: ${seconds.toFixed(1)} s, ${((cpu / size) * 1e6).toFixed(0)} µs of a processor for each; ${result.held.toFixed(1)} MB held`,
      )
    }
    expect((held.at(-1) ?? 0) - (held[0] ?? 0)).toBeLessThan(24)
  },
  HOUR,
)

const someOf = (count: number, most: number): number[] => {
  const found = new Set<number>()
  while (found.size < count) found.add(Math.floor(Math.random() * most))
  return [...found]
}

const hex = (byte: number): string => byte.toString(16).padStart(2, '0')
const nameOf = (level: string, pk: string, sk = '') => `${level} ${pk.replace(/^t#[^#]*#/, '')} ${sk}`

/** Changes items, buckets, pages and roots at random places. @returns the expected findings */
async function flip({ journal, treeId, now, overwrite, raise }: Grown, count: number): Promise<string[]> {
  const expected: string[] = []
  for (const index of someOf(20, count)) {
    await overwrite(index, item => ({ ...item, data: { flipped: true } }))
    const { kind, pk, sk } = grownItem(index, treeId, now)
    const bucket = treeBucketOf(treeId, kind, pk, sk)
    expected.push(nameOf('bucket', bucket.pk, bucket.sk))
  }
  for (const index of someOf(20, 65_536)) {
    const bucket = { pk: treePagePkByName(treeId, 'local', hex(index >> 8)), sk: hex(index & 255) }
    await raise(bucket)
    expected.push(nameOf('bucket', bucket.pk, bucket.sk), nameOf('page', bucket.pk))
  }
  const flipHash = async (root: string, page: string): Promise<void> => {
    const stored = (await journal.pageHashes(root)).get(page)
    if (!stored) throw new Error('there is no such hash')
    await journal.putPageHash(root, page, { ...stored, hash: 'flipped' }, stored.hash)
    expect((await journal.pageHashes(root)).get(page)?.hash).toBe('flipped')
  }
  for (const index of someOf(5, 256)) {
    await flipHash(treePagePkByName(treeId, 'replicated', 'root'), hex(index))
    expected.push(nameOf('page', treePagePkByName(treeId, 'replicated', hex(index))), 'root replicated')
  }
  await flipHash(treeRootsPk(treeId), 'whole')
  return [...expected, 'whole']
}

describe.each([
  ['generated on reading', inMemory, 100_000],
  ['in the engine', inEngine, STORED],
])('changed items that are %s', (_, tablesOf, size) => {
  test('are found by a check at the exact item, bucket, page or root', async () => {
    const tables = await tablesOf(size)
    expect(areFindingsCorrupt(toTreeFindings((await checked(tables)).faults, roots))).toBe(false)
    const expected = await flip(tables, size)
    const { faults, seconds } = await checked(tables)
    const found = faults.map(fault => {
      if (fault.level === 'whole') return 'whole'
      if (fault.level === 'root') return `root ${fault.of}`
      const pk = treePagePk(tables.treeId, fault)
      return fault.level === 'page' ? nameOf('page', pk) : nameOf('bucket', pk, hex(fault.subpage))
    })
    expect(found.sort()).toEqual([...new Set(expected)].sort())
    print(`${size} items with ${found.length} faults: ${seconds.toFixed(1)} s`)
    expect(toTreeFindings(faults, roots).subtrees.local.corrupted).toBe(false)
  })
})

test(
  'a hundred checks of the Merkle tree during two hundred writes a second find nothing',
  async () => {
    const RUNS = Number(process.env['RUNS'] ?? 100)
    const set = await clusterSet(['east'], { memory: true, aws: true })
    const { ports } = set.at('east')
    const record = async () => ({ record: await set.at('east').record(), readAt: set.clock.now() })
    const place = (index: number) => key('sts-role', `mount${index % 100}`, `n${index}`)
    for (let from = 0; from < ITEMS; from += TOGETHER) {
      const some = Array.from({ length: TOGETHER }, (_, index) =>
        putItem(place(from + index), { role: `arn ${from + index}`, externalId: '' }),
      )
      await ports.store.commit(some, await record())
    }
    await set.enable('east')
    let writing = true
    let commits = 0
    const writer = async (number: number) => {
      for (let index = number; writing; index += 4) {
        const cluster = await record()
        // the writes are spread out, so that every page has writes
        const at = place((index * 7919) % ITEMS)
        const [item] = await ports.store.read([at])
        const change =
          item && index % 5 === 0 ? removeItem(at) : putItem(at, { role: `arn ${index}`, externalId: '' })
        await ports.store.commit([change], cluster).catch(() => undefined)
        commits += 1
        await set.clock.sleep(20)
      }
    }
    /** Refreshes hashes meanwhile, as the journal worker does. */
    const worker = async () => {
      while (writing) {
        await set.at('east').streamed()
        await set.clock.sleep(1000)
      }
    }
    const beside = [...[0, 1, 2, 3].map(writer), worker()]
    const began = set.clock.now()
    const seen: number[] = []
    for (let run = 0; run < RUNS; run++) {
      const started = performance.now()
      const { treeId = '' } = await set.at('east').record()
      const view = await beginTreeView(ports, treeId)
      expect(await findTreeFaults(view, () => set.clock.sleep(REST_MS)), `run ${run}`).toEqual([])
      seen.push(view.tally.seen)
      const took = ((performance.now() - started) / 1000).toFixed(1)
      print(`check ${run + 1}: ${view.tally.seen} items, ${took} s, ${commits} commits so far`)
    }
    const seconds = (set.clock.now() - began) / 1000
    writing = false
    await Promise.all(beside)
    print(
      `${RUNS} checks of ${Math.min(...seen)} to ${Math.max(...seen)} items, ${commits} commits in ${seconds.toFixed(0)} s of the set's clock: ${(commits / seconds).toFixed(0)}/s`,
    )
  },
  3 * HOUR,
)
