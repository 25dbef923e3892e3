import { describe, expect, test } from 'vitest'
import type { FollowerSession } from '../../../../shared/replication/secondary/follower.ts'
import { nextPullPauseMs, restUntilNextCall } from '../../../../shared/replication/secondary/pull.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_800_000_000_000
const following = {
  source: {},
  reported: { state: 'stream-wals', synced: 0 },
  roleChangePending: false,
  streaming: {},
} as FollowerSession
const since = (ms: number) => ({ notice: undefined, since: NOW - ms })

describe('the pause before the next call to the primary', () => {
  test.each([
    ['is half a second while entries arrive', { streaming: { lastChangeAt: NOW - 100 } }, since(60_000), 500],
    ['is half a second shortly after a notice', {}, since(6000), 500],
    ['grows while nothing arrives', {}, since(8000), 2000],
    ['is at most ten seconds', {}, since(3_600_000), 10_000],
    ['is two seconds if the primary does not answer', { source: undefined }, since(3_600_000), 2000],
    ['is half a second during a role change', { roleChangePending: true }, since(3_600_000), 500],
    ['is half a second before streaming', { reported: { state: 'idle' } }, since(3_600_000), 500],
    ['is half a second during a comparison', { comparison: { kind: 'comparing' } }, since(3_600_000), 500],
    ['is ten seconds while a comparison waits', { comparison: { kind: 'due' } }, since(3_600_000), 10_000],
    ['is ten seconds without a comparison', { comparison: { kind: 'none' } }, since(3_600_000), 10_000],
  ])('%s', (_, parts, attention, expected) => {
    expect(nextPullPauseMs({ session: { ...following, ...parts } as FollowerSession }, attention, NOW)).toBe(
      expected,
    )
  })
})

describe('a resting run of the puller', () => {
  const noticed = (at: number): Item<'notice'> => ({ ...key('notice'), rev: String(at), data: { at } })

  /** Lets the puller rest from `since` on. @param notices the times at which notices are stored */
  async function rested(notices: readonly number[], end = NOW + 60_000, since = NOW - 50_000) {
    let now = NOW
    const { store, stored, reads } = memoryStore()
    const notice = () => {
      for (const at of notices) if (at <= now) stored.put(noticed(at))
    }
    notice()
    const clock = {
      now: () => now,
      sleep: async (ms: number) => {
        now += ms
        notice()
      },
    }
    const attention = { notice: noticed(since), since }
    await restUntilNextCall({ store, clock } as never, { session: following }, attention, end)
    return { waited: now - NOW, looks: reads.length, since: attention.since }
  }

  test('the puller reads the notice four times a second, and continues with the first new notice', async () => {
    expect(await rested([NOW - 50_000])).toMatchObject({ waited: 10_000, looks: 40 })
    const at = NOW + 3100
    expect(await rested([NOW - 50_000, at])).toEqual({ waited: 3250, looks: 13, since: at })
  })

  test('the puller reads the notice forty times a minute after a minute without entries', async () => {
    const since = NOW - 60_000
    expect(await rested([since], NOW + 60_000, since)).toMatchObject({ waited: 10_000, looks: 7 })
    const at = NOW + 3100
    expect(await rested([since, at], NOW + 60_000, since)).toEqual({ waited: 4500, looks: 3, since: at })
  })

  test('the puller stops in time for its heartbeat and for the end of its run', async () => {
    expect(await rested([], NOW + 1700)).toMatchObject({ waited: 1700 })
  })
})
