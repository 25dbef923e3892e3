import { describe, expect, test } from 'vitest'
import type { FollowerSession } from '../../../../shared/replication/secondary/follower.ts'
import { nextPauseMs, restUntil } from '../../../../shared/replication/secondary/pull.ts'
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

describe('how long the primary is not asked', () => {
  test.each([
    ['half a second while something comes', { streaming: { lastChangeAt: NOW - 100 } }, since(60_000), 500],
    ['the same shortly after a notice', {}, since(6000), 500],
    ['longer the longer nothing comes', {}, since(8000), 2000],
    ['ten seconds at most', {}, since(3_600_000), 10_000],
    ['two seconds where the primary does not answer', { source: undefined }, since(3_600_000), 2000],
    ['half a second during a change of the role', { roleChangePending: true }, since(3_600_000), 500],
    ['half a second before anything is followed', { reported: { state: 'idle' } }, since(3_600_000), 500],
    ['half a second while pages are compared', { comparison: { kind: 'comparing' } }, since(3_600_000), 500],
    ['ten seconds while a comparison is put off', { comparison: { kind: 'due' } }, since(3_600_000), 10_000],
    ['ten seconds once there is none to make', { comparison: { kind: 'none' } }, since(3_600_000), 10_000],
  ])('%s', (_, parts, attention, expected) => {
    expect(nextPauseMs({ session: { ...following, ...parts } as FollowerSession }, attention, NOW)).toBe(
      expected,
    )
  })
})

describe('a run that rests', () => {
  const noticed = (at: number): Item<'notice'> => ({ ...key('notice'), rev: String(at), data: { at } })

  /** Rests from a moment on. @param notices when which notice is there */
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
    await restUntil({ store, clock } as never, { session: following }, attention, end)
    return { waited: now - NOW, looks: reads.length, since: attention.since }
  }

  test('looks four times a second for a notice, and goes on with the first that it has not seen', async () => {
    expect(await rested([NOW - 50_000])).toMatchObject({ waited: 10_000, looks: 40 })
    const at = NOW + 3100
    expect(await rested([NOW - 50_000, at])).toEqual({ waited: 3250, looks: 13, since: at })
  })

  test('looks forty times a minute once nothing has come for a minute', async () => {
    const since = NOW - 60_000
    expect(await rested([since], NOW + 60_000, since)).toMatchObject({ waited: 10_000, looks: 7 })
    const at = NOW + 3100
    expect(await rested([since, at], NOW + 60_000, since)).toEqual({ waited: 4500, looks: 3, since: at })
  })

  test('does not miss its heartbeat, nor its end', async () => {
    expect(await rested([], NOW + 1700)).toMatchObject({ waited: 1700 })
  })
})
