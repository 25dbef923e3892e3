import { expect, test } from 'vitest'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { OperationState } from '../../../shared/model/operation.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { createJournalHandler } from '../../../shared/workers/handlers.ts'
import { HOST_REFRESHES } from '../../../shared/workers/workers.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

test.each([
  ['new journal entries notify the secondaries', { Records: [{}] }, 1],
  ['the minute run does not notify the secondaries', { source: 'aws.events' }, 0],
])('%s', async (_, event, expected) => {
  let notices = 0
  const ports = portsWith({
    store: memoryStore().as('on-journal'),
    clock: { now: () => 1, sleep: async () => undefined },
  })
  await createJournalHandler(ports, async () => void notices++)(event)
  expect(notices).toBe(expected)
})

test.each([
  ['an entry without changes wakes no secondary', [{ noop: true }], ['7'], 0],
  ['an entry with changes notifies the secondaries', [{ body: [] }], ['7'], 1],
  ['an unreadable or partial entry notifies the secondaries', [undefined], ['7'], 1],
  ['several entries at once notify the secondaries', [{ noop: true }], ['7', '8'], 1],
  ['an entry with an unusual sort key notifies the secondaries', [{ noop: true }], ['7.1'], 1],
])('%s', async (_, entries, names, expected) => {
  const asked: unknown[] = []
  const ports = portsWith({
    store: memoryStore().as('on-journal'),
    journal: {
      head: async () => ({ lineage: [] }),
      entries: async (...given: unknown[]) => {
        asked.push(given)
        return entries
      },
    },
    clock: { now: () => 1, sleep: async () => undefined },
  })
  let notices = 0
  const Records = names.map(S => ({ dynamodb: { Keys: { sk: { S } } } }))
  await createJournalHandler(ports, async () => void notices++)({ Records })
  expect(notices).toBe(expected)
  if (names[0] === '7' && names.length === 1) expect(asked).toEqual([[[], 6, 7]])
})

test('the minute run maintains the journal although an operation cannot be restarted', async () => {
  const operation = { name: 'activation', startedAt: 1 } as OperationState
  const { as, reads } = memoryStore([
    item(key('cluster'), { operation: 'o', keyringEdition: 1 } as ClusterRecord),
    item(key('operation', 'o'), operation),
  ])
  const ports = portsWith({
    store: as('on-journal'),
    clock: { now: () => 1, sleep: async () => undefined },
    workflows: { start: () => Promise.reject(new Error('not now')) },
    log: { warn: () => undefined },
  })
  const nothing = async () => undefined
  const handler = createJournalHandler(ports, nothing)
  await handler({ source: 'aws.events' })
  const record = 'cluster record'
  // the tasks of every minute: a restored copy, an operation, an ended epoch, key terms, the journal, hashes,
  // rounds of organizations, other clusters of the set
  const minute = [
    record,
    record,
    'operation o',
    record,
    `${record}, keyring keyring, reencryption progress`,
    record,
    record,
    record,
    `${record}, contact contact, puller run`,
  ]
  expect(reads).toEqual(minute)
  await handler({ Records: [{}] })
  expect(reads, 'journal entries that were written close holes, and compute no hashes').toEqual([
    ...minute,
    record,
  ])
})

test('an embedded host requests a refresh of the hashes only', async () => {
  const calls: string[] = []
  const ports = portsWith({
    store: memoryStore([
      item(key('cluster'), { mode: 'secondary', treeId: 'l', keyringEdition: 1 } as ClusterRecord),
    ]).store,
    journal: { head: async () => void calls.push('head') },
    clock: { now: () => 1, sleep: async () => void calls.push('sleep') },
  })
  await createJournalHandler(ports, async () => undefined)(HOST_REFRESHES)
  expect(calls).toEqual(['head'])
})
