import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { entry, lists } from '../../../support/requests/lists.ts'
import { api, cluster, done, freshMount, invoke, settled, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'
import { raw, seed, tableStore } from '../../../support/tables/store.ts'

withoutWaiting()

// Tests tidy runs of a list: which entries a run removes, how a run starts, that only one run is active, and
// the status of runs.

const tables = tableStore(cluster)
let mount = { path: '', accessor: '' }
beforeEach(async () => {
  tables.clock.ms = Date.now()
  await storage.reset()
  mount = await freshMount()
})

// a job in the background would meet the faults of the next test and appear in its counts
afterEach(async () => {
  await storage.reset()
  await done('DELETE', `/sys${mount.path}`)
  await settled()
})

const namesOf = async (list: string): Promise<string[]> =>
  (await api('GET', `${mount.path}/${list}?list=true`)).body.data?.keys ?? []

const statusOf = async (list: string) =>
  (await done('GET', `${mount.path}/tidy-status`)).body.data[list.replace('-', '_')]

async function finished(list: string) {
  await settled()
  const status = await statusOf(list)
  expect(status).toMatchObject({ running: false, last_end: expect.any(String) })
  return status
}

describe.each(lists)('$list', ({ list, kind }) => {
  const expired = (...hours: number[]) =>
    seed(
      tables,
      hours.map(ago => entry(kind, mount.accessor, `${ago}h-ago`, ago)),
    )

  test.each<[string, object, string[]]>([
    ['72 h by default', {}, ['-1h-ago', '1h-ago', '71h-ago']],
    ['the buffer in the request', { safety_buffer: '2h' }, ['-1h-ago', '1h-ago']],
    ['none', { safety_buffer: 0 }, ['-1h-ago']],
    [
      "a buffer longer than any entry's age",
      { safety_buffer: 1_000_000 },
      ['-1h-ago', '1h-ago', '71h-ago', '73h-ago'],
    ],
  ])(
    'a manual run keeps entries that expired less than the safety buffer ago: %s',
    async (_name, body, left) => {
      await done('POST', `${mount.path}/config/tidy/${list}`, {
        safety_buffer: 7,
        disable_periodic_tidy: true,
      })
      // changed settings rewrite entries in the background, and a run does not remove an entry that changes
      // meanwhile
      await settled()
      await expired(-1, 1, 71, 73)
      const started = await api('POST', `${mount.path}/tidy/${list}`, body)
      expect(started.status, started.text).toBe(202)
      expect(started.body.warnings[0]).toContain('tidy was started')
      expect(await finished(list)).toMatchObject({ removed: 4 - left.length, failed: 0 })
      expect(await namesOf(list)).toEqual([...left].sort())
    },
  )

  test('a second run gets 200 with a warning while the first run holds its lease, and starts after the lease ends', async () => {
    await expired(100)
    const place = key('tidy-run', mount.accessor, list)
    const run = (leaseUntil: number) => ({
      kind: 'put' as const,
      key: place,
      data: {
        leaseUntil,
        runner: 'somebody',
        startedAt: 1,
        endedAt: 0,
        removed: 0,
        failed: 0,
        nextAt: 0,
      },
      expected: 'any' as const,
      times: {},
    })
    await tables.commit(run(Date.now() + 60_000))
    const second = await api('POST', `${mount.path}/tidy/${list}`)
    expect(second.status).toBe(200)
    expect(second.body.warnings).toEqual(['a tidy of this list is already running'])
    expect(await statusOf(list)).toMatchObject({ running: true })
    const other = lists.find(one => one.list !== list)?.list ?? ''
    expect((await api('POST', `${mount.path}/tidy/${other}`)).status, 'the other list has its own').toBe(202)
    expect(await namesOf(list)).toEqual(['100h-ago'])
    await tables.commit(run(Date.now() - 1))
    expect((await api('POST', `${mount.path}/tidy/${list}`)).status).toBe(202)
    expect(await finished(list)).toMatchObject({ removed: 1 })
  })

  test('only one of several concurrent requests starts a run', async () => {
    await storage.fault({ kind: 'hold', operation: 'Query', skip: 0 })
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => api('POST', `${mount.path}/tidy/${list}`)),
    )
    expect(replies.map(reply => reply.status).sort()).toEqual([200, 200, 200, 202])
    await storage.mend()
    await finished(list)
  })

  test.each<[string, object | undefined, string[]]>([
    ['72 h by default', undefined, ['71h-ago']],
    ['the configured buffer', { safety_buffer: '10h' }, []],
    ['no entry when it is disabled', { disable_periodic_tidy: true }, ['71h-ago', '73h-ago']],
  ])('the hourly run removes entries by the settings: %s', async (_name, settings, left) => {
    if (settings) await done('POST', `${mount.path}/config/tidy/${list}`, settings)
    await expired(71, 73)
    await invoke('on-tidy-schedule')
    await settled()
    expect(await namesOf(list)).toEqual(left)
  })

  test('tidy-status shows the result of the last run and the time of the next one', async () => {
    expect(await statusOf(list)).toEqual({
      running: false,
      last_start: null,
      last_end: null,
      removed: 0,
      failed: 0,
      next_run: null,
    })
    await expired(73)
    const before = Date.now()
    await invoke('on-tidy-schedule')
    const status = await finished(list)
    expect(status).toMatchObject({ running: false, removed: 1, failed: 0 })
    expect(Date.parse(status.last_start)).toBeGreaterThanOrEqual(before - 1000)
    expect(Date.parse(status.next_run) - Date.parse(status.last_start)).toBe(3_600_000)
    await done('POST', `${mount.path}/config/tidy/${list}`, { disable_periodic_tidy: true })
    expect((await statusOf(list)).next_run, 'none is planned').toBeNull()
  })

  test('an entry that cannot be removed is counted as failed, and the run continues', async () => {
    await expired(80, 81, 82, 83, 84)
    await storage.fault({
      kind: 'reset',
      when: 'before',
      operation: 'DeleteItem',
      skip: 2,
      whole: true,
    })
    await done('POST', `${mount.path}/tidy/${list}`)
    expect(await finished(list)).toMatchObject({ removed: 4, failed: 1 })
    await storage.reset()
    await done('POST', `${mount.path}/tidy/${list}`)
    expect(await finished(list)).toMatchObject({ removed: 1, failed: 0 })
    expect(await namesOf(list)).toEqual([])
  })

  test('a run that fails releases its guard', async () => {
    await expired(80)
    await storage.fault({ kind: 'error', when: 'before', operation: 'Query', skip: 0, times: 9, whole: true })
    await done('POST', `${mount.path}/tidy/${list}`)
    await settled()
    expect((await storage.calls()).filter(call => call.operation === 'Query')).toHaveLength(9)
    expect(await statusOf(list)).toMatchObject({ running: false })
    await storage.reset()
    expect((await api('POST', `${mount.path}/tidy/${list}`)).status).toBe(202)
    await settled()
    expect(await namesOf(list)).toEqual([])
  })

  test('a negative buffer is rejected and takes no guard', async () => {
    await expired(80)
    expect((await api('POST', `${mount.path}/tidy/${list}`, { safety_buffer: -1 })).status).toBe(400)
    expect((await raw(cluster, key('tidy-run', mount.accessor, list))) ?? 'none').toBe('none')
  })

  test('a tidy run reads only the entries that the run removes', async () => {
    const cost = async (stored: number): Promise<object> => {
      await seed(
        tables,
        Array.from({ length: stored }, (_, index) =>
          entry(kind, mount.accessor, `later-${stored}-${index}`, -1),
        ),
      )
      await expired(...Array.from({ length: 10 }, (_, index) => 80 + index))
      // loads the mounts into the cache
      await statusOf(list)
      await storage.reset()
      await done('POST', `${mount.path}/tidy/${list}`)
      await settled()
      const calls = await storage.calls()
      expect(calls.filter(call => call.operation === 'DeleteItem')).toHaveLength(10)
      return { calls: calls.length, read: calls.reduce((sum, { scanned }) => sum + scanned, 0) }
    }
    const few = await cost(5)
    expect(few).toMatchObject({ read: 10 })
    expect(await cost(60)).toEqual(few)
  })
})
