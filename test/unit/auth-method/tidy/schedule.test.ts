import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import { runHourlyTidy } from '../../../../shared/auth-method/tidy/schedule.ts'
import { createJobRun } from '../../../../shared/jobs/job.ts'
import { type Key, key } from '../../../../shared/storage/kinds.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { portsWith } from '../../../builders/ports.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { mount, NOW } from '../../tokens/support.ts'

/** Runs the hourly job for two mounts and one mount removal, and returns what it started and logged. */
async function round(broken: (job: Record<string, unknown>) => boolean, unreadable?: Key['kind']) {
  const { store } = memoryStore([
    clusterItem(),
    item(key('mounts'), {
      mounts: [mount(), mount({ path: 'other', accessor: 'auth_cloud_2' })],
      removing: [{ path: 'gone', accessor: 'auth_cloud_3' } as never],
    }),
  ])
  const started: string[] = []
  const told: unknown[] = []
  const ports = portsWith({
    store: {
      ...store,
      read: async (keys: readonly Key[]) => {
        if (keys.some(one => one.kind === unreadable)) throw new ApiError('busy', 'throttled')
        return store.read(keys)
      },
    },
    clock: { now: () => NOW },
    cipher: { expectKeyring: () => undefined },
    entropy: { uuid: () => 'runner' },
    log: { error: (_: string, fields: unknown) => void told.push(fields) },
    background: {
      start: async (job: Record<string, unknown>) => {
        if (broken(job)) throw new Error('no room')
        started.push(`${job['job']} ${job['mount']}`)
      },
    },
  })
  const fault = await runHourlyTidy(createJobRun(ports, NOW + 60_000)).catch((error: Error) => error.message)
  return { started: started.sort(), told, fault }
}

const all = [
  'remove-mount auth_cloud_3',
  'tidy auth_cloud_1',
  'tidy auth_cloud_1',
  'tidy auth_cloud_2',
  'tidy auth_cloud_2',
]

describe('the hourly run', () => {
  test('a run without failures succeeds', async () => {
    expect(await round(() => false)).toEqual({ started: all, told: [], fault: undefined })
  })

  test('a failing mount fails the run but does not stop the other mounts', async () => {
    const { started, told, fault } = await round(job => job['mount'] === 'auth_cloud_1')
    expect(started).toEqual(all.filter(one => !one.endsWith('_1')))
    expect(told).toHaveLength(2)
    expect(fault).toBe('the hourly round failed for 1 of 3 mounts')
  })

  test('a failing mount removal fails the run but does not stop other removals', async () => {
    const { started, told, fault } = await round(job => job['job'] === 'remove-mount')
    expect(started).toEqual(all.slice(1))
    expect(told).toMatchObject([{ mount: 'auth_cloud_3' }])
    expect(fault).toBe('the hourly round failed for 1 of 3 mounts')
  })

  test('an unreadable cluster record does not count as a retired cluster', async () => {
    const { started, fault } = await round(() => false, 'cluster')
    expect(started).toEqual([])
    expect(fault).toBe('the hourly round failed for 3 of 3 mounts')
  })
})
