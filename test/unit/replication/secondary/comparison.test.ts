import { beforeEach, describe, expect, test } from 'vitest'
import { lastEndedGeneration } from '../../../../shared/journal/generation.ts'
import { createFirstHead, type JournalHead } from '../../../../shared/journal/head.ts'
import type { TransactionElement } from '../../../../shared/journal/journal.ts'
import type { SyncSegment } from '../../../../shared/model/secondary.ts'
import { takeComparisonStep } from '../../../../shared/replication/secondary/comparison.ts'
import type { Follower } from '../../../../shared/replication/secondary/follower.ts'
import { portsWith } from '../../../builders/ports.ts'

// Tests when a secondary compares the items that a sync has fetched. `alone/replication/comparison.test.ts` tests the
// results on whole clusters.

const TREE_ID = 'a life'
const START = 1_800_000_000_000
const synced: SyncSegment = {
  incarnation: 3,
  treeId: TREE_ID,
  scope: 'all',
  start: 5,
  lineage: [['000001.aaaaaaaaaaaa', 1]],
  phase: 'closed',
  seen: 9,
  compare: true,
}

const withoutCompare = ({ compare: _, ...rest }: SyncSegment): SyncSegment => rest

let now: number
let head: JournalHead
let segments: SyncSegment[]
/** the generation of this cluster's hashes; absent: the hashes are deleted */
let made: number | undefined
/** how often this cluster read its hashes, and called the primary */
let looks: { own: number; theirs: number }

beforeEach(() => {
  now = START
  head = { ...createFirstHead('000001.aaaaaaaaaaaa', 1), mode: 'applying', ownEpoch: '', last: 9, applied: 9 }
  segments = Array.from({ length: 16 }, () => synced)
  made = lastEndedGeneration(START / 1000)
  looks = { own: 0, theirs: 0 }
})

/** A secondary whose page hashes equal the primary's. */
const newFollower = (): Follower =>
  ({
    treeId: TREE_ID,
    session: { roleChangePending: false },
    own: portsWith({
      clock: { now: () => now },
      journal: {
        head: async () => head,
        readRaw: async (places: readonly unknown[]) =>
          places.map((_, index) => ({ rev: `r${index}`, data: segments[index] })),
        pageHashes: async (pk: string) => {
          looks.own += 1
          if (pk.endsWith('#root') && pk.split('#').length === 3)
            return made === undefined
              ? new Map()
              : new Map(['replicated', 'local'].map(of => [of, { hash: 'h', gen: made }]))
          return new Map(pages.map(page => [page, { hash: page }]))
        },
        transact: async (elements: readonly TransactionElement[]) => {
          segments = elements.flatMap(one => ('put' in one && one.put ? [one.put.data as SyncSegment] : []))
          return 'done'
        },
      },
      entropy: { bytes: (length: number) => Buffer.alloc(length) },
    }),
    link: {
      tree: async () => {
        looks.theirs += 1
        return { hashes: [...pages, ...pages] }
      },
    },
  }) as unknown as Follower
const pages = Array.from({ length: 256 }, (_, page) => page.toString(16).padStart(2, '0'))

/** Takes steps until the follower has nothing to do. */
async function compared(follower = newFollower()): Promise<void> {
  while ((await takeComparisonStep(follower)) === 'worked');
}

test('the items of a full sync are compared once, which is stored for later runs', async () => {
  const follower = newFollower()
  await compared(follower)
  expect(looks.theirs).toBe(1)
  expect(segments.map(({ compare }) => compare)).toEqual(Array.from({ length: 16 }, () => undefined))
  await compared(follower)
  expect(looks.theirs).toBe(1)
  const before = looks.own
  await compared()
  expect(looks, 'another run asks nobody').toEqual({ own: before, theirs: 1 })
})

describe('no comparison begins', () => {
  test.each<[when: string, set: () => void]>([
    ['after a sync that was noted as compared', () => segments.splice(4, 1, withoutCompare(synced))],
    ['while a sync has not ended', () => segments.splice(4, 1, { ...synced, phase: 'source' })],
    ['after a sync of an earlier tree', () => segments.splice(4, 1, { ...synced, treeId: 'x' })],
    ['before the replay after a sync has ended', () => Object.assign(head, { unfinishedSync: 'all' })],
    ['while a sync is about to begin', () => Object.assign(head, { mode: 'draining' })],
  ])('%s', async (_, set) => {
    set()
    await compared()
    expect(looks).toEqual({ own: 0, theirs: 0 })
  })

  test('no comparison begins without a primary, during a role change, or before the cluster record was read', async () => {
    const roles = [{ roleChangePending: true }, {}].map(session => ({ session }))
    for (const change of [{ link: undefined }, ...roles]) await compared(Object.assign(newFollower(), change))
    expect(looks).toEqual({ own: 0, theirs: 0 })
  })
})

test.each<[why: string, gen: number | undefined]>([
  ['missing', undefined],
  ['of an earlier generation', lastEndedGeneration(START / 1000) - 1],
])('if this cluster’s hashes are %s, the secondary looks again ten seconds later', async (_, gen) => {
  made = gen
  const follower = newFollower()
  await compared(follower)
  const once = looks.own
  expect([once, looks.theirs]).toEqual([1, 0])
  now += 9999
  await compared(follower)
  expect(looks.own).toBe(once)
  now += 1
  await compared(follower)
  expect(looks).toEqual({ own: 2 * once, theirs: 0 })
  made = lastEndedGeneration(START / 1000)
  now += 10_000
  await compared(follower)
  expect(looks.theirs).toBe(1)
})
