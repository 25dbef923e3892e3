import { beforeEach, describe, expect, test } from 'vitest'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import { allTreePages } from '../../../../shared/journal/page-places.ts'
import type { HeadMove } from '../../../../shared/journal/transitions.ts'
import { treeBucketOf, treeBucketText, treePageNames } from '../../../../shared/journal/tree.ts'
import { takeComparisonStep } from '../../../../shared/replication/secondary/comparison.ts'
import type { ComparisonState, Follower } from '../../../../shared/replication/secondary/follower.ts'
import { MAX_COMPARED_ITEMS } from '../../../../shared/replication/sync/compare.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { portsWith } from '../../../builders/ports.ts'
import { type MemoryStore, memoryStore } from '../../../support/tables/memory-store.ts'

// Tests how a comparison handles keys that seem to differ. The comparison checks such keys after applying the
// journal, fetches keys that still differ, and finally gives them up.

const TREE_ID = 'a life'
const NOW = 1_800_000_000_000
const at = (index: number) => ({ kind: 'policy' as const, pk: 'policy', sk: `p${index}` })

let head: JournalHead
let memory: MemoryStore
/** the number of keys that each call requested from the primary */
let asked: number[]
let begun: object[]
let comparison: ComparisonState & { kind: 'comparing' }

beforeEach(() => {
  head = { ...createFirstHead('000001.aaaaaaaaaaaa', 1), mode: 'applying', ownEpoch: '', last: 9, applied: 9 }
  memory = memoryStore()
  asked = []
  begun = []
  comparison = { kind: 'comparing', pages: [], suspects: [at(0)], found: [] }
})

const counted = () => memory.stored.at(key('diverging'))?.data

const buckets = new Map<string, string[]>()
for (let index = 0; index < MAX_COMPARED_ITEMS + 500; index++) {
  const { kind, pk, sk } = at(index)
  const bucket = treeBucketText(treeBucketOf(TREE_ID, kind, pk, sk)).replace(`t#${TREE_ID}#`, '')
  const line = JSON.stringify([kind, pk, sk, 'leaf', null])
  buckets.set(bucket, [...(buckets.get(bucket) ?? []), line])
}

/** Makes a secondary without the primary's items, up to position 12 of the primary's journal. */
const newFollower = (): Follower =>
  ({
    treeId: TREE_ID,
    linkName: 'a link',
    session: {
      roleChangePending: false,
      comparison,
      reported: { state: 'idle', synced: 0 },
      source: { epoch: head.epoch, lineage: head.lineage, seq: 12, frontier: 12 },
    },
    cluster: async () => ({ record: { id: 'c', set: 's' }, readAt: 0 }),
    own: portsWith({
      clock: { now: () => NOW },
      log: { error: () => undefined },
      audit: { write: async () => undefined },
      store: memory.as('on-pull'),
      journal: {
        head: async () => head,
        readRaw: async (keys: readonly unknown[]) => keys.map(() => undefined),
        page: async () => new Map(),
        readBucketItems: async () => [],
        moveHead: async ({ next }: HeadMove) => {
          begun.push(next)
          return 'refused'
        },
        transact: async () => 'done',
      },
      entropy: { bytes: (length: number) => Buffer.alloc(length) },
    }),
    link: {
      tree: async ({ page = '' }: { page?: string }) => {
        if (page.includes('/')) return { hashes: buckets.get(page) ?? [] }
        return { hashes: treePageNames.map(name => (buckets.has(`${page}/${name}`) ? 'more' : '')) }
      },
      items: async ({ keys }: { keys: { sk: string }[] }) => {
        asked.push(keys.length)
        return { items: keys.map(({ sk }) => ({ rev: 'r', pos: 'p', sk, leaf: 'theirs' })), seq: 12 }
      },
    },
  }) as unknown as Follower

/** Takes steps until the follower has nothing to do. @returns the result of the last step */
async function compared(follower: Follower): Promise<string> {
  for (;;) {
    const progress = await takeComparisonStep(follower)
    if (progress !== 'worked') return progress
  }
}

test('keys are judged only after this cluster has applied the primary’s entries', async () => {
  const follower = newFollower()
  expect(await compared(follower)).toBe('waiting')
  Object.assign(head, { last: 12, applied: 11 })
  expect(await compared(follower)).toBe('waiting')
  expect([asked, counted()]).toEqual([[1], undefined])
  Object.assign(head, { applied: 12 })
  await compared(follower)
  expect(asked).toEqual([1, 1])
  expect(counted()?.keys).toEqual([{ ...at(0), rounds: 1, at: NOW }])
})

test('at most ten thousand keys are checked, a hundred at a time', async () => {
  Object.assign(comparison, { pages: [...allTreePages], suspects: [] })
  Object.assign(head, { last: 12, applied: 12 })
  await compared(newFollower())
  // each key is requested twice: when it is read, and when it is judged
  expect(asked).toEqual(Array.from({ length: (2 * MAX_COMPARED_ITEMS) / 100 }, () => 100))
})

describe("keys that differ from the primary's after a comparison", () => {
  const known = (count: number, rounds: number): void => {
    const keys = Array.from({ length: count }, (_, index) => ({ ...at(index), rounds, at: NOW }))
    memory.stored.put({ ...key('diverging'), rev: 'r', data: { treeId: TREE_ID, link: 'a link', keys } })
  }
  const concluded = async (found: number) => {
    const follower = newFollower()
    Object.assign(comparison, { suspects: [], found: Array.from({ length: found }, (_, index) => at(index)) })
    const progress = await compared(follower)
    return { progress, state: follower.session.comparison, fault: follower.session.reported.fault }
  }

  test('another sync fetches the differing keys, and the comparison ends', async () => {
    expect(await concluded(1)).toMatchObject({ state: { kind: 'none' }, fault: undefined })
    expect(begun).toEqual([expect.objectContaining({ mode: 'syncing' })])
  })

  test('given-up keys are not fetched', async () => {
    known(1, 4)
    expect(await concluded(1)).toEqual({ progress: 'waiting', state: { kind: 'none' }, fault: undefined })
    expect(begun).toEqual([])
  })

  test('too many differing keys stop this secondary, and status shows the fault', async () => {
    known(200, 4)
    expect(await concluded(201)).toEqual({
      progress: 'stopped',
      state: { kind: 'none' },
      fault: expect.stringMatching(
        /more items differ from the primary’s than this cluster can track: policy [0-9a-f]{12}, /,
      ),
    })
    expect(begun).toEqual([])
  })
})
