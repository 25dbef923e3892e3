import { expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import { firstHead, type Head } from '../../../../shared/replication/head.ts'
import type { Element, Transacted } from '../../../../shared/replication/journal.ts'
import { revokeSecondary } from '../../../../shared/replication/manage/revoke.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith } from '../../support/call.ts'
import { memoryStore } from '../../support/memory-store.ts'

const NOW = 1_700_000_000_500
const CLUSTER = '11111111-2222-3333-4444-555555555555'
const EPOCH = '000001.c'

const record: ClusterRecord = {
  ...{ id: 'c-1', name: 'east', mode: 'primary', keyring: 'k', term: 1, initialisedAt: 0 },
  ...{ set: 'set-1', epoch: EPOCH },
}
const secondary = (parts: Partial<Secondary>): Item<'secondary'> => ({
  ...key('secondary', parts.id ?? ''),
  rev: 'r',
  data: {
    ...{ id: '', createdAt: 1, expires: 2, jti: 'h', time: 0, address: '', apiAddress: '', version: '' },
    ...{ epoch: EPOCH },
    ...parts,
  },
})

interface World {
  items?: Item[]
  head?: Partial<Head>
  verdicts?: Transacted[]
}

/** A revocation of `id`, what it wrote besides into the audit log, and its transactions. */
function revoking(id: string, { items = [], head = {}, verdicts = [] }: World) {
  const notes: unknown[] = []
  const transactions: (readonly Element[])[] = []
  const call = callWith({
    given: { id },
    now: NOW,
    cluster: { record, readAt: NOW },
    request: { id: 'r-1', path: 'sys/replication/dr/primary/revoke-secondary' },
    ports: {
      store: memoryStore(items).store,
      clock: { now: () => NOW, sleep: async () => undefined },
      entropy: { bytes: (length: number) => Buffer.alloc(length) },
      audit: { write: async (entry: unknown) => void notes.push(entry) },
      journal: {
        head: async () => ({ ...firstHead(EPOCH, 1), ...head }),
        transact: async (elements: readonly Element[]) => {
          transactions.push(elements)
          return verdicts.shift() ?? 'done'
        },
      },
    },
  })
  const kept = new Map<string, unknown>()
  const once = async (name: string, work: () => Promise<unknown>) => {
    if (!kept.has(name)) kept.set(name, await work())
    return kept.get(name)
  }
  return { done: () => revokeSecondary({ ...call, once } as Call<never>), notes, transactions }
}

test('a revocation ends what stands under a name where the journal is open, and is noted with id and epoch, once for a request', async () => {
  const items = [secondary({ id: 'a', cluster: CLUSTER })]
  const { done, notes, transactions } = revoking('a', { items, verdicts: ['conflict', { condition: [0] }] })
  expect(await done()).toEqual({
    answer: { kind: 'nothing', warnings: [expect.stringContaining('POST sys/rotate with retire=true')] },
  })
  expect(transactions).toHaveLength(3)
  expect(transactions.at(-1)).toEqual([
    {
      item: key('secondary', 'a'),
      put: expect.objectContaining({ data: expect.objectContaining({ id: 'a', revokedAt: NOW }) }),
      if: { rev: 'r' },
    },
    {
      item: key('revoked', CLUSTER),
      put: expect.objectContaining({ data: { at: NOW, epoch: EPOCH } }),
      if: 'absent',
    },
    { head: { n: 1 }, expect: { mode: 'writing', epoch: EPOCH, n: 1 } },
  ])
  expect(notes).toEqual([
    {
      audit: 'replication',
      time: '2023-11-14T22:13:20.5Z',
      event: 'revocation',
      operation: 'r-1',
      cluster: 'c-1',
      set: 'set-1',
      epoch: EPOCH,
      id: 'a',
    },
  ])
})

test('a revocation names again whom it has named before', async () => {
  const before = { ...key('revoked', CLUSTER), rev: 'q', data: { at: 1 } } as Item
  const { done, transactions } = revoking(CLUSTER, { items: [before] })
  await done()
  expect(transactions[0]?.[0]).toMatchObject({ item: key('revoked', CLUSTER), if: { rev: 'q' } })
})

test('a revocation of what nobody knows changes nothing', async () => {
  const { done, notes, transactions } = revoking('b', { items: [secondary({ id: 'a' })] })
  expect(await done()).toEqual({ answer: { kind: 'nothing' } })
  expect([notes, transactions]).toEqual([[], []])
})

test.each<[string, World]>([
  ['its journal is closed', { head: { mode: 'closed' } }],
  ['it has another journal by now', { head: { epoch: '000003.c' } }],
  [
    'that is being changed all the time',
    { verdicts: Array.from({ length: 9 }, (): Transacted => 'conflict') },
  ],
])('a cluster refuses for a moment where %s', async (_, world) => {
  const { done } = revoking('a', { ...world, items: [secondary({ id: 'a' })] })
  await expect(done()).rejects.toMatchObject({ code: 'busy' })
})
