import { describe, expect, test } from 'vitest'
import { createJobRun, hasTimeLeft, processEach } from '../../../shared/jobs/job.ts'
import { type ScanPlace, scanAllItems, scanStartPlace } from '../../../shared/jobs/scan.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { runBackgroundJob } from '../../../shared/workers/jobs.ts'
import { workerDefinitions } from '../../../shared/workers/workers.ts'
import { clusterItem, clusterRecord } from '../../builders/cluster-record.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { token } from '../tokens/support.ts'

/** Builds ports whose clock the test controls. */
function around(parts: object = {}) {
  const state = { now: 0 }
  const { store, reads } = memoryStore([clusterItem()])
  const ports = portsWith({
    clock: { now: () => state.now },
    cipher: { expectKeyring: () => undefined },
    store,
    ...parts,
  })
  return { state, ports, reads }
}

describe('the context of a job', () => {
  test('the cluster record is read again before the record is too old for a commit', async () => {
    const { state, ports, reads } = around()
    const run = createJobRun(ports, 100_000)
    expect(await run.cluster()).toEqual({ record: clusterRecord(), readAt: 0 })
    state.now = 5000
    await run.cluster()
    expect(reads).toHaveLength(1)
    state.now = 5001
    expect(await run.cluster()).toEqual({ record: clusterRecord(), readAt: 5001 })
    expect(reads).toHaveLength(2)
  })

  test.each([
    ['has become a secondary', [clusterItem({ mode: 'secondary' })]],
    ['is not there', []],
  ])('a job gets no cluster record if the cluster %s', async (_, items) => {
    const { ports } = around({ store: memoryStore(items).store })
    expect(await createJobRun(ports, 1).cluster()).toBeUndefined()
  })

  test('a storage error does not mean that the cluster no longer serves', async () => {
    const fault = new Error('down')
    const { ports } = around({ store: { read: async () => Promise.reject(fault) } })
    await expect(createJobRun(ports, 1).cluster()).rejects.toBe(fault)
  })

  test('the time is up at the deadline', () => {
    const { state, ports } = around()
    const run = createJobRun(ports, 10)
    state.now = 9
    expect(hasTimeLeft(run)).toBe(true)
    state.now = 10
    expect(hasTimeLeft(run)).toBe(false)
  })
})

describe('processing each element', () => {
  test('sixteen elements are processed at a time, and errors are counted', async () => {
    let running = 0
    let most = 0
    const counts = await processEach(
      Array.from({ length: 40 }, (_, index) => index),
      async index => {
        running += 1
        most = Math.max(most, running)
        await Promise.resolve()
        running -= 1
        if (index % 4 === 0) throw new Error('one of ten')
        return index % 4 === 1
      },
    )
    expect(counts).toEqual({ done: 10, failed: 10 })
    expect(most).toBe(16)
  })

  test('an empty list is processed', async () => {
    expect(await processEach([], async () => true)).toEqual({ done: 0, failed: 0 })
  })
})

describe('scanning a table', () => {
  const tokenNamed = (name: string): Item<'token'> => item(key('token', name), token())

  /** Builds a table of four segments with two pages each. Reading a page takes a second. */
  function table(deadline: number) {
    const asked: ScanPlace[] = []
    const { state, ports } = around({
      store: {
        scan: async function* (
          _: string,
          { index, of, from }: { index: number; of: number; from?: { sk: string } },
        ) {
          expect(of).toBe(4)
          asked.push({ segment: index, ...(from ? { from: from as { pk: string; sk: string } } : {}) })
          const pages = from ? ['b'] : ['a', 'b']
          for (const page of pages) {
            state.now += 1000
            yield {
              items: [tokenNamed(`${index}${page}`)],
              next: page === 'a' ? { pk: 'p', sk: `${index}a` } : undefined,
            }
          }
        },
      },
    })
    return { run: createJobRun(ports, deadline), asked }
  }

  const seen: string[] = []
  const work = async (items: Item<'token'>[]) =>
    seen.push(...items.map(one => one.pk.replace('token#', ''))) > 0

  test.each<[deadline: number, expected: string, left: ScanPlace | undefined]>([
    [100_000, '0a 0b 1a 1b 2a 2b 3a 3b', undefined],
    [3000, '0a 0b 1a', { segment: 1, from: { pk: 'p', sk: '1a' } }],
    [4000, '0a 0b 1a 1b', { segment: 2 }],
  ])('a scan continues for %i ms', async (deadline, expected, left) => {
    seen.length = 0
    expect(await scanAllItems(table(deadline).run, 'token', scanStartPlace, work)).toEqual(left)
    expect(seen.join(' ')).toBe(expected)
  })

  test('an unfinished page is repeated', async () => {
    const [first, second] = [table(100_000), table(100_000)]
    expect(await scanAllItems(first.run, 'token', scanStartPlace, async () => false)).toEqual({ segment: 0 })
    const from = { pk: 'p', sk: '0a' }
    const untilB = async (items: Item<'token'>[]) => items[0]?.pk !== 'token#0b'
    expect(await scanAllItems(second.run, 'token', scanStartPlace, untilB)).toEqual({ segment: 0, from })
  })

  test('a scan resumes at its position and starts the next segments at their beginning', async () => {
    seen.length = 0
    const { run, asked } = table(100_000)
    await scanAllItems(run, 'token', { segment: 2, from: { pk: 'p', sk: '2a' } }, work)
    expect(seen.join(' ')).toBe('2b 3a 3b')
    expect(asked).toEqual([{ segment: 2, from: { pk: 'p', sk: '2a' } }, { segment: 3 }])
  })
})

describe('running a job by its payload', () => {
  const running = (payload: unknown, deadline: number) => {
    const started: unknown[] = []
    const { state, ports } = around({
      log: { info: () => undefined },
      meter: { measure: async (work: () => Promise<unknown>) => ({ value: await work(), calls: {} }) },
      background: { start: async (job: unknown) => void started.push(job) },
      store: {
        ...memoryStore([clusterItem(), item(key('mounts'), { mounts: [], removing: [] })]).store,
        scan: async function* () {
          state.now += 1000
          yield { items: [], next: { pk: 'p', sk: 's' } }
        },
      },
    })
    return runBackgroundJob(payload, ports, deadline).then(() => started)
  }

  test('a job that runs out of time starts its continuation', async () => {
    const payload = { job: 'token-tidy', of: 'token', at: { segment: 0 } }
    expect(await running(payload, 500)).toEqual([
      { job: 'token-tidy', of: 'token', at: { segment: 0, from: { pk: 'p', sk: 's' } } },
    ])
  })

  test.each([
    ['no job', {}],
    ['an unknown job', { job: 'mine' }],
    ['a job of a prototype', { job: 'constructor' }],
    ['a payload of another shape', { job: 'token-tidy', of: 'role', at: { segment: 0 } }],
    ['a negative segment', { job: 'token-tidy', of: 'token', at: { segment: -1 } }],
    ['no mount', { job: 'remove-mount', mount: '' }],
    ['an unknown list', { job: 'tidy', mount: 'm', list: 'x', buffer: 0, runner: 'r' }],
    ['nothing', undefined],
  ])('%s is rejected', async (_, payload) => {
    await expect(running(payload, 500)).rejects.toThrow()
  })
})

test('a worker that nothing else starts has a schedule', () => {
  const scheduled = Object.entries(workerDefinitions).flatMap(([name, worker]) =>
    'every' in worker ? [[name, worker.every]] : [],
  )
  expect(scheduled).toEqual([
    ['on-tidy-schedule', 60],
    ['on-pull', 1],
    ['on-journal', 1],
    ['on-account-facts', 5],
  ])
})
