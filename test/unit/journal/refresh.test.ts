import { beforeEach, describe, expect, test } from 'vitest'
import { createFirstHead, type JournalHead } from '../../../shared/journal/head.ts'
import type { StoredPageHash, StoredTreeBucket } from '../../../shared/journal/journal.ts'
import {
  type ChosenTreePages,
  invalidateTreeHashes,
  refreshTreeHashes,
  treeRootsPk,
} from '../../../shared/journal/refresh.ts'
import {
  hashTreePage,
  hashWholeTreeRoot,
  type LeafLimbs,
  treePagePkByName,
} from '../../../shared/journal/tree.ts'
import { serveTreeHashes } from '../../../shared/link/serve/reading.ts'
import { portsWith } from '../../builders/ports.ts'

// Tests the refresh with hashes in memory: when hashes are computed again, and when they are kept.

const GENERATION = 345_600
const now = 5000 * GENERATION + 100
const ALL = 512
let head: JournalHead
let stored: Map<string, Map<string, StoredPageHash>>
const sums: StoredTreeBucket = {
  sums: new Map<string, LeafLimbs>([
    ['p', [1n, 0n, 0n]],
    ['g5001', [2n, 0n, 0n]],
  ]),
}
const filled = treePagePkByName('life', 'local', '07')

const { journal } = portsWith({
  journal: {
    head: async () => head,
    entries: async () => [],
    page: async (pk: string) => new Map(pk === filled ? [['0a', sums]] : []),
    readBucketItems: async () => [{ kind: 'policy', pk: 'policy', sk: 'a', rev: 'r', data: {} }],
    pageHashes: async (root: string) => new Map(stored.get(root)),
    putPageHash: async (root: string, page: string, next: StoredPageHash) => {
      stored.set(root, new Map(stored.get(root)).set(page, next))
    },
  },
})

const refresh = (at = now, recompute?: ChosenTreePages) =>
  refreshTreeHashes({ journal, treeId: 'life', head, now: at }, recompute ? { recompute } : {})
const hashOf = () => stored.get(treePagePkByName('life', 'local', 'root'))?.get('07')?.hash

beforeEach(() => {
  head = { ...createFirstHead('000001.aaaaaaaaaaaa', 1), mode: 'applying', last: 3, applied: 3 }
  stored = new Map()
})

describe('refreshTreeHashes', () => {
  test('the first refresh computes all hashes once, and the root of the whole tree from both roots', async () => {
    expect(await refresh()).toBe(ALL)
    expect(await refresh()).toBe(0)
    const roots = stored.get(treeRootsPk('life'))
    expect(roots?.get('whole')?.hash).toBe(
      hashWholeTreeRoot(roots?.get('replicated')?.hash ?? '', roots?.get('local')?.hash ?? ''),
    )
  })

  test('the refresh after a generation ends computes all hashes again, without that generation', async () => {
    await refresh()
    expect(hashOf()).toBe(hashTreePage(new Map([['0a', [3n, 0n, 0n]]])))
    expect(await refresh(now + GENERATION)).toBe(ALL)
    expect(hashOf()).toBe(hashTreePage(new Map([['0a', [1n, 0n, 0n]]])))
    expect(await refresh(now + GENERATION)).toBe(0)
  })

  test('requested pages are computed again, and all pages after invalidateHashes', async () => {
    await refresh()
    expect(await refresh(now, new Set([filled]))).toBe(1)
    expect(await refresh(now, new Set())).toBe(0)
    await invalidateTreeHashes(journal, 'life')
    expect(await refresh()).toBe(ALL)
  })

  test('no roots are stored if a sync begins meanwhile', async () => {
    const before = head
    const hashes = refresh()
    head = { ...head, incarnation: head.incarnation + 1 }
    expect(await hashes).toBe(0)
    expect(stored.get(treeRootsPk('life'))).toBeUndefined()
    head = { ...before, mode: 'syncing' }
    expect(await refresh()).toBe(0)
  })
})

describe('serveTreeHashes', () => {
  const told = (level: 'root' | 'page' | 'bucket', page?: string) =>
    serveTreeHashes(journal, page === undefined ? { level } : { level, page }, 'life', now * 1000)

  test("serveTreeHashes returns the totals of a page's buckets, and the items of a bucket", async () => {
    expect((await told('page', 'l#07')).hashes[10]).toBe('3 0 0')
    const { hashes } = await told('bucket', 'l#07/0a')
    expect(hashes.map(line => JSON.parse(line).slice(0, 3))).toEqual([['policy', 'policy', 'a']])
  })

  test.each([
    ['page', undefined],
    ['page', 'l#7'],
    ['page', 'l#07/0a'],
    ['bucket', 'l#07'],
    ['bucket', 'l#07/0a/0b'],
    ['page', 'x#07'],
  ] as const)('serveTreeHashes rejects an invalid place: %s %s', async (level, page) => {
    await expect(told(level, page)).rejects.toThrow(/page of the tree does not exist/)
  })
})
