import { expect, test } from 'vitest'
import type { Ports } from '../../../shared/ports.ts'
import { type Key, key } from '../../../shared/storage/kinds.ts'
import { journalHandler } from '../../../shared/workers/handlers.ts'

test.each([
  ['cells that were written are worth a notice to those who follow', { Records: [{}] }, 1],
  ['a minute that has passed is none', { source: 'aws.events' }, 0],
])('%s', async (_, event, expected) => {
  let notices = 0
  const ports = {
    store: { read: async () => [undefined], list: async () => [] },
    clock: { now: () => 1, sleep: async () => undefined },
  } as unknown as Ports
  await journalHandler(ports, async () => void notices++)(event)
  expect(notices).toBe(expected)
})

test.each([
  [
    'a cell that tells nothing but the time is worth no notice, and no new hashes',
    [{ noop: true }],
    ['7'],
    0,
  ],
  ['a cell that tells more is', [{ body: [] }], ['7'], 1],
  ['so is one that cannot be read, or is a part of another', [undefined], ['7'], 1],
  ['so are several at once', [{ noop: true }], ['7', '8'], 1],
  ['and what a stream names otherwise', [{ noop: true }], ['7.1'], 1],
])('%s', async (_, cells, names, expected) => {
  const asked: unknown[] = []
  const ports = {
    store: { read: async () => [undefined] },
    journal: {
      head: async () => ({ line: [] }),
      cells: async (...given: unknown[]) => {
        asked.push(given)
        return cells
      },
    },
    clock: { now: () => 1, sleep: async () => undefined },
  } as unknown as Ports
  let notices = 0
  const Records = names.map(S => ({ dynamodb: { Keys: { sk: { S } } } }))
  await journalHandler(ports, async () => void notices++)({ Records })
  expect(notices).toBe(expected)
  if (names[0] === '7' && names.length === 1) expect(asked).toEqual([[[], 6, 7]])
})

test('a minute that has passed has an operation go on, and tends the journal although none can be started', async () => {
  const operation = { ...key('operation', 'o'), data: { name: 'activation', startedAt: 1 } }
  const reads: unknown[] = []
  const ports = {
    store: {
      read: async ([first]: readonly Key[]) => {
        reads.push(first?.kind)
        return [first?.kind === 'operation' ? operation : { data: { operation: 'o' } }]
      },
      list: async () => [],
    },
    clock: { now: () => 1, sleep: async () => undefined },
    workflows: { start: () => Promise.reject(new Error('not now')) },
    log: { warn: () => undefined },
  } as unknown as Ports
  const nothing = async () => undefined
  const handler = journalHandler(ports, nothing)
  await handler({ source: 'aws.events' })
  // a copy that was restored, an operation, an epoch that has ended, terms, the journal, the recovery key, others of the set
  const minute = ['cluster', 'cluster', 'operation', 'cluster', 'cluster', 'cluster', 'cluster', 'cluster']
  expect(reads).toEqual(minute)
  await handler({ Records: [{}] })
  expect(reads).toEqual([...minute, 'cluster', 'cluster'])
})

test('hashes are not made anew all the time while cells are written: full batches leave it to others, the last one waits', async () => {
  const clock = { ms: 1_000_000 }
  const refreshed: number[] = []
  const ports = {
    store: { read: async () => [{ data: { mode: 'secondary', treeId: 'l' } }], list: async () => [] },
    // a refresh begins by looking at the head
    journal: { head: async () => void refreshed.push(clock.ms) },
    clock: {
      now: () => clock.ms,
      sleep: async (ms: number) => {
        clock.ms += ms
      },
    },
  } as unknown as Ports
  const nothing = async () => undefined
  const handler = journalHandler(ports, nothing)
  const full = { Records: Array.from({ length: 100 }, () => ({})) }
  for (let batches = 0; batches < 50; batches++) {
    await handler(full)
    clock.ms += 100
  }
  expect(refreshed).toEqual([0, 1, 2, 3, 4].map(second => 1_000_000 + second * 1000))
  const end = clock.ms
  await handler({ Records: [{}] })
  expect(refreshed.length).toBe(6)
  expect((refreshed.at(-1) ?? 0) - end).toBeLessThanOrEqual(1000)
})
