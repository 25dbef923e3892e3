import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, test } from 'vitest'
import { lastingFaultsOf } from '../../shared/replication/check/examine.ts'
import { findingsOf } from '../../shared/replication/check/findings.ts'
import { viewTree } from '../../shared/replication/check/view.ts'
import type { Element } from '../../shared/replication/journal.ts'
import { pkOfPage } from '../../shared/replication/page-places.ts'
import { rootsPk } from '../../shared/replication/refresh.ts'
import { bucketOf, pagePk } from '../../shared/replication/tree.ts'
import { put, remove } from '../../shared/storage/changes.ts'
import { key } from '../../shared/storage/kinds.ts'
import { grown, grownItem } from '../support/grown.ts'
import { type Member, member } from '../support/pair.ts'
import { clusterSet } from '../support/set.ts'

// The check of a tree at size: what it finds, how long it takes, and what it keeps in memory.

const SIZES = (process.env['SIZES'] ?? '10000,30000,100000').split(',').map(Number)
const MEGABYTE = 2 ** 20

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const print = (text: string) => process.stderr.write(`${text}\n`)

/** Everything that is wrong with the tree of a member, and what the check held at most, megabytes. */
async function checked(at: Member) {
  collect()
  const before = process.memoryUsage().heapUsed
  const began = performance.now()
  let most = 0
  let pages = 0
  const view = await viewTree(at, at.life)
  const faults = await lastingFaultsOf(view, async () => {
    pages += 1
    if (pages % 50 !== 0) return
    collect()
    most = Math.max(most, process.memoryUsage().heapUsed - before)
  })
  const seconds = (performance.now() - began) / 1000
  return { faults, seen: view.tally.seen, seconds, held: most / MEGABYTE }
}

const roots = { replicated: '', local: '' }

describe('a check', () => {
  test('takes time by the number of items, and no more memory', async () => {
    const held: number[] = []
    for (const size of SIZES) {
      const at = await member()
      await grown(at, size)
      const result = await checked(at)
      expect(result).toMatchObject({ faults: [], seen: size })
      held.push(result.held)
      const each = ((result.seconds / size) * 1e6).toFixed(0)
      print(
        `${size} items: ${result.seconds.toFixed(1)} s, ${each} µs an item, ${result.held.toFixed(0)} MB held`,
      )
    }
    expect((held.at(-1) ?? 0) - (held[0] ?? 0)).toBeLessThan(40)
  })
})

describe('flips at random places', () => {
  let at: Member
  const SIZE = SIZES.at(-1) ?? 0

  beforeAll(async () => {
    at = await member()
    await grown(at, SIZE)
  })

  /** A conflict decides nothing: the engine may be busy. */
  async function written(elements: readonly Element[]): Promise<void> {
    for (;;) {
      const result = await at.journal.transact(elements)
      if (result === 'done') return
      expect(result).toBe('conflict')
    }
  }

  const someOf = (count: number, most: number): number[] => {
    const found = new Set<number>()
    while (found.size < count) found.add(Math.floor(Math.random() * most))
    return [...found]
  }

  test('of items, buckets, pages and roots are found, each as exactly that', async () => {
    const now = Math.floor(at.turn.ms / 1000)
    const expected: string[] = []
    const nameOf = (level: string, pk: string, sk = '') => `${level} ${pk.replace(/^t#[^#]*#/, '')} ${sk}`
    for (const index of someOf(20, SIZE)) {
      const item = grownItem(index, at.life, now)
      const { kind, pk, sk } = item
      const put = { ...item, data: { flipped: true } }
      await written([{ item: { kind, pk, sk }, put, if: { rev: item.rev } }])
      const bucket = bucketOf(at.life, kind, pk, sk)
      expected.push(nameOf('bucket', bucket.pk, bucket.sk))
    }
    for (const index of someOf(20, 65_536)) {
      const page = (index >> 8).toString(16).padStart(2, '0')
      const bucket = { pk: pagePk(at.life, 'local', page), sk: (index & 255).toString(16).padStart(2, '0') }
      await written([{ bucket, sums: new Map([['p', [1n, 0n, 0n]]]) }])
      expected.push(nameOf('bucket', bucket.pk, bucket.sk), nameOf('page', bucket.pk))
    }
    const hashes = await at.journal.pageHashes(pagePk(at.life, 'replicated', 'root'))
    for (const index of someOf(5, 256)) {
      const page = index.toString(16).padStart(2, '0')
      const stored = hashes.get(page)
      if (!stored) throw new Error('there is no such page')
      await at.journal.putPageHash(
        pagePk(at.life, 'replicated', 'root'),
        page,
        { ...stored, hash: 'flipped' },
        stored.hash,
      )
      expected.push(nameOf('page', pagePk(at.life, 'replicated', page)), 'root replicated')
    }
    const whole = (await at.journal.pageHashes(rootsPk(at.life))).get('whole')
    if (whole)
      await at.journal.putPageHash(rootsPk(at.life), 'whole', { ...whole, hash: 'flipped' }, whole.hash)
    expected.push('whole')
    const { faults, seconds } = await checked(at)
    const found = faults.map(fault => {
      if (fault.level === 'whole') return 'whole'
      if (fault.level === 'root') return `root ${fault.of}`
      const pk = pkOfPage(at.life, fault)
      return fault.level === 'page'
        ? nameOf('page', pk)
        : nameOf('bucket', pk, fault.subpage.toString(16).padStart(2, '0'))
    })
    expect(found.sort()).toEqual([...new Set(expected)].sort())
    print(`${SIZE} items with ${found.length} faults: ${seconds.toFixed(1)} s`)
    expect(findingsOf(faults, roots).subtrees.local.corrupted).toBe(false)
  })
})

test('a hundred checks under two hundred writes a second find nothing', async () => {
  const RUNS = Number(process.env['RUNS'] ?? 100)
  const set = await clusterSet(['east'], { memory: true, aws: true })
  await set.enable('east')
  const { ports } = set.at('east')
  const owner = 'long'
  const record = async () => ({ record: await set.at('east').record(), readAt: set.clock.now() })
  const place = (index: number) => key('sts-role', owner, `n${index}`)
  let writing = true
  let commits = 0
  const writer = async (number: number) => {
    for (let index = number; writing; index += 4) {
      const cluster = await record()
      const [item] = await ports.store.read([place(index % 1000)])
      const change =
        item && index % 5 === 0
          ? remove(place(index % 1000))
          : put(place(index % 1000), { role: `arn ${index}`, externalId: '' })
      await ports.store.commit([change], cluster).catch(() => undefined)
      commits += 1
      await set.clock.sleep(20)
    }
  }
  const writers = [0, 1, 2, 3].map(writer)
  const began = set.clock.now()
  for (let run = 0; run < RUNS; run++) {
    const { life = '' } = await set.at('east').record()
    const view = await viewTree(ports, life)
    expect(await lastingFaultsOf(view, async () => undefined), `run ${run}`).toEqual([])
    await set.at('east').streamed()
  }
  const seconds = (set.clock.now() - began) / 1000
  writing = false
  await Promise.all(writers)
  print(
    `${RUNS} checks, ${commits} commits in ${seconds.toFixed(0)} s of the set's clock: ${(commits / seconds).toFixed(0)}/s`,
  )
})
