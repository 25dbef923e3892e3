import { beforeEach, describe, expect, test } from 'vitest'
import type { Diverging } from '../../../../shared/model/secondary.ts'
import type { Follower } from '../../../../shared/replication/secondary/follower.ts'
import { countRound } from '../../../../shared/replication/secondary/loop-guard.ts'

// How rounds of keys that do not come in line are counted, and what somebody else who counts does to that. The rule of
// the rounds themselves: `diverging.test.ts`.

const at = (sk: string) => ({ kind: 'policy' as const, pk: 'policy', sk })

let stored: Diverging | undefined
let answer: 'done' | 'conflict'
let told: unknown[]
let audited: object[]
let isSecondary: boolean

beforeEach(() => {
  stored = undefined
  answer = 'done'
  told = []
  audited = []
  isSecondary = true
})

const follower = () =>
  ({
    ...{ treeId: 'a life', linkName: 'a link' },
    cluster: async () => (isSecondary ? { record: { id: 'c', set: 's' }, readAt: 0 } : undefined),
    own: {
      clock: { now: () => 1000 },
      log: { error: (...given: unknown[]) => void told.push(given) },
      audit: { write: async (entry: object) => void audited.push(entry) },
      store: {
        read: async () => [stored && { kind: 'diverging', pk: 'a', sk: 'b', rev: 'r', data: stored }],
        commit: async ([change]: { data: Diverging }[]) => {
          if (answer === 'done') stored = change?.data
          return answer
        },
      },
    },
  }) as unknown as Follower

describe('a round', () => {
  test('is kept by the link and the tree in which it was counted', async () => {
    expect(await countRound(follower(), [at('x')])).toEqual([at('x')])
    expect(stored).toEqual({ treeId: 'a life', link: 'a link', keys: [{ ...at('x'), rounds: 1, at: 1000 }] })
    expect([told, audited]).toEqual([[], []])
  })

  test('that gives a key up names it, to the log and the audit log, and leaves nothing to fetch', async () => {
    for (let rounds = 0; rounds < 3; rounds++) await countRound(follower(), [at('x')])
    expect(told).toEqual([])
    expect(await countRound(follower(), [at('x')])).toEqual([])
    expect(told).toEqual([[expect.stringContaining('are given up'), expect.objectContaining({ count: 1 })]])
    expect(audited).toEqual([expect.objectContaining({ event: 'divergence', items: ['policy policy/x'] })])
  })

  test('that somebody else has counted meanwhile is judged anew', async () => {
    answer = 'conflict'
    expect(await countRound(follower(), [at('x')])).toBe('again')
  })

  test('of a cluster that is no secondary any more counts nothing', async () => {
    isSecondary = false
    expect(await countRound(follower(), [at('x')])).toBe('again')
    expect(stored).toBeUndefined()
  })

  test('of more keys than can be kept, where all of those are given up, is the last', async () => {
    const many = Array.from({ length: 201 }, (_, index) => at(`k${index}`))
    for (let rounds = 0; rounds < 3; rounds++) expect(await countRound(follower(), many)).toHaveLength(201)
    expect(await countRound(follower(), many)).toBe('stop')
  })
})
