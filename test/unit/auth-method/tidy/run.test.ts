import { describe, expect, test } from 'vitest'
import { startTidyRun } from '../../../../shared/auth-method/tidy/run.ts'
import { neverRunTidy } from '../../../../shared/auth-method/tidy/settings.ts'
import type { TidyRun } from '../../../../shared/model/tidy.ts'
import type { ClusterRead } from '../../../../shared/ports.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { portsWith } from '../../../builders/ports.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_000_000
const place = key('tidy-run', 'auth_cloud_1', 'roletag-denylist')

function start({
  last,
  outcome = 'done',
  period,
}: {
  last?: TidyRun
  outcome?: 'done' | 'conflict'
  period?: number
} = {}) {
  const { as, commits } = memoryStore(last ? [item(place, last)] : [], { verdicts: [outcome] })
  const jobs: unknown[] = []
  const ports = portsWith({
    store: as('tidy'),
    clock: { now: () => NOW },
    entropy: { uuid: () => 'runner' },
    background: { start: async (job: unknown) => void jobs.push(job) },
  })
  const wanted = {
    mount: 'auth_cloud_1',
    list: 'roletag-denylist',
    buffer: 5,
    ...(period === undefined ? {} : { period }),
  } as const
  return { commits, jobs, started: startTidyRun(ports, {} as ClusterRead, wanted) }
}

describe('the lease of a tidy run', () => {
  test("a free list is leased for 15 minutes, and the job gets the runner's ID", async () => {
    const { started, commits, jobs } = start()
    expect(await started).toBe(true)
    expect(commits.flat()).toMatchObject([
      {
        kind: 'put',
        key: place,
        data: { leaseUntil: NOW + 900_000, runner: 'runner', startedAt: NOW, nextAt: 0 },
        expected: 'absent',
      },
    ])
    expect(jobs).toEqual([
      { job: 'tidy', mount: 'auth_cloud_1', list: 'roletag-denylist', buffer: 5, runner: 'runner' },
    ])
  })

  test.each([
    [NOW + 1, false],
    [NOW, true],
    [0, true],
  ])('a list leased until %i is taken: %s', async (leaseUntil, taken) => {
    const { started, jobs } = start({ last: { ...neverRunTidy, leaseUntil, runner: 'other', removed: 9 } })
    expect(await started).toBe(taken)
    expect(jobs.length).toBe(taken ? 1 : 0)
  })

  test('only one of two concurrent runs gets the lease', async () => {
    const { started, jobs } = start({ outcome: 'conflict' })
    expect([await started, jobs]).toEqual([false, []])
  })

  test('only scheduled runs set the time of the next run', async () => {
    const nextOf = async (period?: number) => {
      const { started, commits } = start({
        last: { ...neverRunTidy, nextAt: 7 },
        ...(period === undefined ? {} : { period }),
      })
      await started
      return (commits.flat()[0] as { data: TidyRun }).data.nextAt
    }
    expect([await nextOf(), await nextOf(3600)]).toEqual([7, NOW + 3600])
  })
})
