import { expect, test } from 'vitest'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { OperationState } from '../../../shared/model/operation.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { journalHandler } from '../../../shared/workers/handlers.ts'
import { HOST_REFRESHES } from '../../../shared/workers/workers.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

test.each([
  ['journal entries that were written are worth a notice to those who follow', { Records: [{}] }, 1],
  ['a minute that has passed is none', { source: 'aws.events' }, 0],
])('%s', async (_, event, expected) => {
  let notices = 0
  const ports = portsWith({
    store: memoryStore().as('on-journal'),
    clock: { now: () => 1, sleep: async () => undefined },
  })
  await journalHandler(ports, async () => void notices++)(event)
  expect(notices).toBe(expected)
})

test.each([
  [
    'a journal entry that tells nothing but the time is worth no notice, and no new hashes',
    [{ noop: true }],
    ['7'],
    0,
  ],
  ['a journal entry that tells more is', [{ body: [] }], ['7'], 1],
  ['so is one that cannot be read, or is a part of another', [undefined], ['7'], 1],
  ['so are several at once', [{ noop: true }], ['7', '8'], 1],
  ['and what a stream names otherwise', [{ noop: true }], ['7.1'], 1],
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
  await journalHandler(ports, async () => void notices++)({ Records })
  expect(notices).toBe(expected)
  if (names[0] === '7' && names.length === 1) expect(asked).toEqual([[[], 6, 7]])
})

test('a minute that has passed has an operation go on, and maintains the journal although none can be started', async () => {
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
  const handler = journalHandler(ports, nothing)
  await handler({ source: 'aws.events' })
  const record = 'cluster record'
  // a copy that was restored, an operation, an epoch that has ended, terms, the journal, hashes, others of the set
  const minute = [
    record,
    record,
    'operation o',
    record,
    `${record}, keyring keyring, reencryption progress`,
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

test('an embedded host asks for hashes alone', async () => {
  const calls: string[] = []
  const ports = portsWith({
    store: memoryStore([
      item(key('cluster'), { mode: 'secondary', treeId: 'l', keyringEdition: 1 } as ClusterRecord),
    ]).store,
    journal: { head: async () => void calls.push('head') },
    clock: { now: () => 1, sleep: async () => void calls.push('sleep') },
  })
  await journalHandler(ports, async () => undefined)(HOST_REFRESHES)
  expect(calls).toEqual(['head'])
})
