import { expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import type { Secondary } from '../../../../shared/model/link.ts'
import { revokeSecondary } from '../../../../shared/replication/handlers/revoke.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { callWith } from '../../../support/requests/call.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const NOW = 1_700_000_000_500
const CLUSTER = '11111111-2222-3333-4444-555555555555'
const EPOCH = '000001.c'

const record: ClusterRecord = {
  id: 'c-1',
  name: 'east',
  mode: 'primary',
  keyring: 'k',
  term: 1,
  initialisedAt: 0,
  set: 'set-1',
  epoch: EPOCH,
}
const secondary = (parts: Partial<Secondary>): Item<'secondary'> => ({
  ...key('secondary', parts.id ?? ''),
  rev: 'r',
  data: {
    id: '',
    createdAt: 1,
    expires: 2,
    jti: 'h',
    time: 0,
    address: '',
    apiAddress: '',
    version: '',
    epoch: EPOCH,
    ...parts,
  },
})

interface World {
  items?: Item[]
  verdicts?: ('done' | 'conflict')[]
}

/** A revocation of `id`, what it wrote besides into the audit log, and its commits. */
function revoking(id: string, { items = [], verdicts = [] }: World) {
  const notes: unknown[] = []
  const { as, commits } = memoryStore(items, { verdicts })
  const call = callWith({
    given: { id },
    now: NOW,
    cluster: { record, readAt: NOW },
    request: { id: 'r-1', path: 'sys/replication/dr/primary/revoke-secondary' },
    ports: {
      store: as('replication'),
      clock: { now: () => NOW, sleep: async () => undefined },
      audit: { write: async (entry: unknown) => void notes.push(entry) },
    },
  })
  const kept = new Map<string, unknown>()
  const once = async (name: string, work: () => Promise<unknown>) => {
    if (!kept.has(name)) kept.set(name, await work())
    return kept.get(name)
  }
  return { done: () => revokeSecondary({ ...call, once } as Call<never>), notes, commits }
}

test('a revocation ends what stands under a name, for the set to know, and is noted with id and epoch, once for a request', async () => {
  const items = [secondary({ id: 'a', cluster: CLUSTER })]
  const { done, notes, commits } = revoking('a', { items, verdicts: ['conflict', 'conflict'] })
  expect(await done()).toEqual({
    answer: { kind: 'nothing', warnings: [expect.stringContaining('POST sys/rotate with retire=true')] },
  })
  expect(commits).toEqual([
    [
      expect.objectContaining({
        put: expect.objectContaining(key('secondary', 'a')),
        data: expect.objectContaining({ id: 'a', revokedAt: NOW }),
        expected: { rev: 'r' },
      }),
      expect.objectContaining({
        put: key('holder', CLUSTER),
        data: { name: 'a', at: NOW, revoked: { at: NOW, epoch: EPOCH } },
        expected: 'absent',
      }),
    ],
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

test('a revocation names again whom it has named before, and keeps what is known of it', async () => {
  const data = { name: 'a', at: 1, terms: ['t'] }
  const before = { ...key('holder', CLUSTER), rev: 'q', data } as Item
  const { done, commits } = revoking(CLUSTER, { items: [before] })
  await done()
  expect(commits[0]?.[0]).toMatchObject({
    put: key('holder', CLUSTER),
    expected: { rev: 'q' },
    data: { ...data, revoked: { at: NOW, epoch: EPOCH } },
  })
})

test('a revocation of what nobody knows changes nothing', async () => {
  const { done, notes, commits } = revoking('b', { items: [secondary({ id: 'a' })] })
  expect(await done()).toEqual({ answer: { kind: 'nothing' } })
  expect([notes, commits]).toEqual([[], []])
})

test('a revocation is refused for a moment where what it is about changes all the time', async () => {
  const verdicts = Array.from({ length: 9 }, () => 'conflict' as const)
  const { done } = revoking('a', { verdicts, items: [secondary({ id: 'a' })] })
  await expect(done()).rejects.toMatchObject({ code: 'busy' })
})
