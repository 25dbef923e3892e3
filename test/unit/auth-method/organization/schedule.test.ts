import { describe, expect, test } from 'vitest'
import {
  startOrganizationRounds,
  startsRounds,
} from '../../../../shared/auth-method/organization/schedule.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount } from '../../tokens/support.ts'

const HOUR_MS = 3_600_000
const now = 100 * HOUR_MS
const own = mount({})
const map = { accounts: 1, completedAt: now, maxAge: 3600 }

async function started(mode: ClusterRecord['mode'], completedAt = now, exists = true) {
  const jobs: unknown[] = []
  const measured: unknown[] = []
  const { store } = memoryStore([
    item(key('mounts'), { mounts: [own], removing: [] }),
    item(key('cluster'), { mode, keyringEdition: 1 } as ClusterRecord),
    ...(exists ? [item(key('organization-map', own.accessor), { ...map, completedAt })] : []),
  ])
  const write = (_message: string, _fields: object, measures?: object) => void measured.push(measures)
  await startOrganizationRounds({
    store,
    clock: { now: () => now, sleep: async () => undefined },
    background: { start: async job => void jobs.push(job) },
    log: { info: write, warn: write, error: write },
  })
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
    expect(await started('secondary', 0)).toEqual({ jobs: [], measured: [] })
  })

  test('a mount without a map starts none', async () => {
    expect(await started('primary', now, false)).toEqual({ jobs: [], measured: [] })
  })

  test.each([
    [HOUR_MS, []],
    [HOUR_MS + 1, [{ IssuerFaults: 1 }]],
  ])('a map of an age of %i ms is measured as %j', async (age, measured) => {
    expect(await started('primary', now - age)).toEqual({ jobs: [round], measured })
  })

  test('four minutes of an hour start rounds', () => {
    const minutes = Array.from({ length: 60 }, (_, minute) => minute)
    expect(minutes.filter(minute => startsRounds(now + minute * 60_000 + 59_999))).toEqual([0, 15, 30, 45])
  })
})
