import { describe, expect, test } from 'vitest'
import {
  startOrganizationRounds,
  startsRounds,
} from '../../../../shared/auth-method/organization/schedule.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { portsWith } from '../../../builders/ports.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const HOUR_MS = 3_600_000
const now = 100 * HOUR_MS
const own = mount({})
const MINUTE_MS = 60_000
const completed = now - 14 * MINUTE_MS
const map = { accounts: 1, completedAt: completed, maxAge: 3600 }

interface Given {
  completedAt?: number
  record?: Partial<ClusterRecord>
  hasMap?: boolean
  at?: number
}

async function started(
  mode: ClusterRecord['mode'],
  { completedAt = completed, record = {}, hasMap = true, at = now }: Given = {},
) {
  const jobs: unknown[] = []
  const measured: unknown[] = []
  const { store } = memoryStore([
    item(key('mounts'), { mounts: [own], removing: [] }),
    item(key('cluster'), { mode, keyringEdition: 1, ...record } as ClusterRecord),
    ...(hasMap ? [item(key('organization-map', own.accessor), { ...map, completedAt })] : []),
  ])
  const write = (_message: string, _fields: object, measures?: object) => void measured.push(measures)
  const ports = portsWith({
    store,
    deployment: { home: 'cluster' },
    clock: { now: () => at, sleep: async () => undefined },
    background: { start: async job => void jobs.push(job) },
    log: { error: write },
  })
  await startOrganizationRounds(ports)
  return { jobs, measured }
}

const round = { job: 'organization', mount: own.accessor }

describe('the schedule of rounds', () => {
  test.each(['primary', 'disabled'] as const)(
    'a cluster in the mode %s starts a round for each map',
    async mode => {
      expect(await started(mode)).toEqual({ jobs: [round], measured: [] })
    },
  )

  test('a secondary starts none and measures nothing', async () => {
    expect(await started('secondary', { completedAt: 0 })).toEqual({ jobs: [], measured: [] })
  })

  test('a mount without a map starts none', async () => {
    expect(await started('primary', { hasMap: false })).toEqual({ jobs: [], measured: [] })
  })

  test.each([
    [HOUR_MS, []],
    [HOUR_MS + 1, [{ IssuerFaults: 1 }]],
  ])('a map of an age of %i ms is measured as %j', async (age, measured) => {
    expect(await started('primary', { completedAt: now - age })).toEqual({ jobs: [round], measured })
  })

  test('a restored copy starts none and measures nothing', async () => {
    expect(await started('primary', { completedAt: 0, record: { homeTable: 'other' } })).toEqual({
      jobs: [],
      measured: [],
    })
  })

  test('a run that is late by a minute starts rounds, and not those that the minute before has completed', async () => {
    const at = now + MINUTE_MS
    expect((await started('primary', { at })).jobs).toEqual([round])
    expect((await started('primary', { at, completedAt: now + 10_000 })).jobs).toEqual([])
    expect((await started('primary', { at: at + MINUTE_MS })).jobs).toEqual([])
  })

  test('a promoted cluster starts rounds at once', async () => {
    const at = now + 7 * MINUTE_MS
    const jobs = async (modeSince: number) => (await started('primary', { at, record: { modeSince } })).jobs
    expect(await jobs(at - 2 * MINUTE_MS + 1)).toEqual([round])
    expect(await jobs(at - 2 * MINUTE_MS)).toEqual([])
  })

  test('two minutes of each quarter of an hour start rounds', () => {
    const minutes = Array.from({ length: 60 }, (_, minute) => minute)
    expect(minutes.filter(minute => startsRounds(now + minute * MINUTE_MS + 59_999))).toEqual([
      0, 1, 15, 16, 30, 31, 45, 46,
    ])
  })
})
