import { beforeEach, describe, expect, test } from 'vitest'
import type { ItemPlace } from '../../../../shared/journal/journal.ts'
import type { DivergingKey } from '../../../../shared/model/secondary.ts'
import {
  countRepairRound,
  divergingKeysOf,
  isDivergingKeyGivenUp,
  judgeRepairRound,
  shortKeyName,
  toItemPlaces,
} from '../../../../shared/replication/secondary/diverging.ts'
import type { Follower } from '../../../../shared/replication/secondary/follower.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { failed, ok } from '../../../../shared/values/result.ts'
import { portsWith } from '../../../builders/ports.ts'
import { type MemoryStore, memoryStore } from '../../../support/tables/memory-store.ts'

const HOUR = 3_600_000
const at = (sk: string): ItemPlace => ({ kind: 'policy', pk: 'policy', sk })
const names = (places: readonly { sk: string }[]) => places.map(({ sk }) => sk).sort()

/** Judges rounds of differing keys, a minute apart. */
function played(rounds: readonly (readonly string[])[], pause = 60_000) {
  let keys: DivergingKey[] = []
  return rounds.map((wrong, index) => {
    const round = judgeRepairRound(keys, wrong.map(at), index * pause)
    keys = round.keys
    return { fallen: names(round.newlyGivenUp), left: names(round.remaining), tooMany: round.tooMany, keys }
  })
}

describe("counting rounds of a key that differs from the primary's", () => {
  test('a differing key is given up after three syncs, once', () => {
    const rounds = played(Array.from({ length: 5 }, () => ['x']))
    expect(rounds.map(({ left }) => left)).toEqual([['x'], ['x'], ['x'], [], []])
    expect(rounds.map(({ fallen }) => fallen)).toEqual([[], [], [], ['x'], []])
  })

  test('a differing key is counted separately from keys that begin to differ later', () => {
    const rounds = played([['x'], ['x'], ['x', 'y'], ['x', 'y'], ['x', 'y']])
    expect(rounds.map(({ left }) => left)).toEqual([['x'], ['x'], ['x', 'y'], ['y'], ['y']])
    expect(rounds.flatMap(({ fallen }) => fallen)).toEqual(['x'])
    expect(
      rounds.some(({ tooMany }) => tooMany),
      '200 keys including a given-up one are not too many',
    ).toBe(false)
  })

  test('a differing key is reported once, when the key is given up', () => {
    const rounds = played([['x'], ['x'], ['x'], ['x'], ['y']])
    expect(rounds.map(({ fallen }) => fallen)).toEqual([[], [], [], ['x'], []])
  })

  test('a given-up key stays given up, however many other keys differ later', () => {
    const [, , , last] = played([['x'], ['x'], ['x'], ['x']])
    const others = Array.from({ length: 200 }, (_, index) => at(`k${index}`))
    const first = judgeRepairRound([], others, 0).keys
    const { keys } = judgeRepairRound([...first, ...(last?.keys ?? [])], [], 1000)
    expect([keys.length, keys[0]?.sk]).toEqual([200, 'x'])
  })

  test('a differing key is counted from the beginning after an hour, unless the key was given up', () => {
    expect(played([['x'], ['x'], ['x'], ['x']], HOUR).map(({ left }) => left)).toEqual([
      ['x'],
      ['x'],
      ['x'],
      ['x'],
    ])
    const [, , , last] = played([['x'], ['x'], ['x'], ['x']])
    const later = judgeRepairRound(last?.keys ?? [], [at('y')], 10 * HOUR)
    expect(later.keys.filter(isDivergingKeyGivenUp).map(({ sk }) => sk)).toEqual(['x'])
  })

  test('a differing key stops the secondary if two hundred other keys are given up', () => {
    const many = Array.from({ length: 201 }, (_, index) => `k${String(index).padStart(3, '0')}`)
    const rounds = played([many, many, many, many])
    expect(rounds.map(({ tooMany }) => tooMany)).toEqual([false, false, false, true])
    expect(rounds[3]?.keys).toHaveLength(200)
    expect(played([many.slice(1), many.slice(1), many.slice(1), many.slice(1)])[3]).toMatchObject({
      tooMany: false,
      left: [],
    })
  })
})

test('a differing key of another link or another tree is ignored', () => {
  const keys: DivergingKey[] = [{ ...at('x'), rounds: 1, at: 0 }]
  const data = { treeId: 'a life', link: 'a link', keys }
  expect(divergingKeysOf({ data }, { treeId: 'a life', link: 'a link' })).toEqual(keys)
  expect(divergingKeysOf({ data }, { treeId: 'another', link: 'a link' })).toEqual([])
  expect(divergingKeysOf({ data }, { treeId: 'a life', link: undefined })).toEqual([])
  expect(divergingKeysOf({ data: { ...data, link: '' } }, { treeId: 'a life', link: undefined })).toEqual(
    keys,
  )
})

test('a differing key of an unknown kind is ignored', () => {
  const unknown = { kind: 'of-the-future', pk: 'a', sk: 'b', rounds: 1, at: 0 }
  expect(toItemPlaces([{ ...at('x'), rounds: 1, at: 0 }, unknown])).toEqual([at('x')])
})

test("the short name of a differing key shows only the key's kind", () => {
  expect(shortKeyName(at('secret-team'))).toMatch(/^policy [0-9a-f]{12}$/)
  expect(shortKeyName(at('a'))).not.toBe(shortKeyName(at('b')))
})

// Tests how rounds of differing keys are stored while concurrent runs count too. The tests above cover the
// rule itself.

let memory: MemoryStore
let told: unknown[]
let audited: object[]
let isSecondary: boolean

beforeEach(() => {
  memory = memoryStore()
  told = []
  audited = []
  isSecondary = true
})

const counted = () => memory.stored.at(key('diverging'))?.data

const follower = () =>
  ({
    treeId: 'a life',
    linkName: 'a link',
    cluster: async () => (isSecondary ? { record: { id: 'c', set: 's' }, readAt: 0 } : undefined),
    own: portsWith({
      clock: { now: () => 1000 },
      log: { error: (...given: unknown[]) => void told.push(given) },
      audit: { write: async (entry: object) => void audited.push(entry) },
      store: memory.as('on-pull'),
    }),
  }) as unknown as Follower

describe('a round of repairing differing keys', () => {
  test('a round is stored with the link and the tree to which the round belongs', async () => {
    expect(await countRepairRound(follower(), [at('x')])).toEqual(ok([at('x')]))
    expect(counted()).toEqual({
      treeId: 'a life',
      link: 'a link',
      keys: [{ ...at('x'), rounds: 1, at: 1000 }],
    })
    expect([told, audited]).toEqual([[], []])
  })

  test('a round that gives up a key names the key in the log and the audit log, and leaves nothing to fetch', async () => {
    for (let rounds = 0; rounds < 3; rounds++) await countRepairRound(follower(), [at('x')])
    expect(told).toEqual([])
    expect(await countRepairRound(follower(), [at('x')])).toEqual(ok([]))
    expect(told).toEqual([
      [expect.stringContaining('are no longer synced'), expect.objectContaining({ count: 1 })],
    ])
    expect(audited).toEqual([expect.objectContaining({ event: 'divergence', items: ['policy policy/x'] })])
  })

  test('a round fails with a conflict if another run counted meanwhile', async () => {
    memory = memoryStore([], { verdicts: ['conflict'] })
    expect(await countRepairRound(follower(), [at('x')])).toEqual(failed('conflict'))
  })

  test('a round on a cluster that is no longer a secondary counts nothing', async () => {
    isSecondary = false
    expect(await countRepairRound(follower(), [at('x')])).toEqual(failed('conflict'))
    expect(counted()).toBeUndefined()
  })

  test('a round with too many given-up keys is the last round', async () => {
    const many = Array.from({ length: 201 }, (_, index) => at(`k${index}`))
    for (let rounds = 0; rounds < 3; rounds++)
      expect(await countRepairRound(follower(), many)).toEqual(ok(many))
    expect(await countRepairRound(follower(), many)).toEqual(failed('too-many'))
  })
})
