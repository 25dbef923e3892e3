import { expect, test } from 'vitest'
import { createNoopEntry } from '../../../../shared/journal/journal-entry.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { entry } from '../../../support/requests/lists.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import { sized } from '../../../support/runner/size.ts'
import { api, cluster, done, fresh, freshMount, settled, storage } from '../../../support/service/cluster.ts'
import { begun, replayed, wrongSums } from '../../../support/service/journal.ts'
import { seed, tableStore } from '../../../support/tables/store.ts'

// Tests the whole service while it writes a journal.

const { store, journal, clock, commit } = tableStore(cluster)

/** Begins a journal, and returns its cluster record. */
async function journaled(): Promise<ClusterRecord & { treeId: string }> {
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  const record = { ...item.data, ...(await begun(journal)) }
  clock.ms = Date.now()
  expect(await store.commit([replaceItem(item, item, record)], { record: item.data, readAt: clock.ms })).toBe(
    'done',
  )
  return record
}

/** Number of requests in total, and concurrently. */
const REQUESTS = sized(500, 5000)
const AT_ONCE = sized(20, 128)

test(`${REQUESTS} mixed requests, ${AT_ONCE} concurrently: no request is refused, no item is in all transactions, and the journal is sound`, async () => {
  const { path } = await freshMount()
  const workers = [await workerOn(path), await workerOn(path), await workerOn(path), await workerOn(path)]
  const record = await journaled()
  for (const worker of workers) await worker.login()
  const kinds = [
    (index: number) => workers[index % workers.length]?.tryLogin(),
    () =>
      api('POST', `/sys/policies/acl/${fresh('p')}`, { policy: 'path "a/*" { capabilities = ["read"] }' }),
    () => api('POST', '/auth/token/create', { ttl: '1h' }),
    () => api('POST', `${path}/role/${fresh('r')}`, { auth_type: 'ec2', bound_region: 'us-east-1' }),
    () => api('DELETE', `${path}/role/${fresh('r')}`),
  ]
  await storage.reset()
  await storage.awsLike(5)
  const statuses = new Set<number | undefined>()
  for (let at = 0; at < REQUESTS; at += AT_ONCE) {
    const sent = Array.from({ length: AT_ONCE }, (_, index) => kinds[index % kinds.length]?.(at + index))
    for (const reply of await Promise.all(sent)) statuses.add(reply?.status)
  }
  const calls = await storage.calls()
  await storage.reset()
  expect([...statuses].sort()).toEqual([200, 204])
  const transactions = calls.filter(({ operation }) => operation === 'TransactWriteItems')
  // deleting a missing item needs no commit
  expect(transactions.length).toBeGreaterThanOrEqual((REQUESTS / kinds.length) * (kinds.length - 1))
  const places = transactions.flatMap(({ writes }) =>
    writes.map(({ table, pk, sk }) => `${table} ${pk} ${sk}`),
  )
  const most = Math.max(...[...Map.groupBy(places, place => place).values()].map(list => list.length))
  expect(most).toBeLessThan(transactions.length / 8)
  expect(places.filter(place => place.includes(' journal head'))).toEqual([])
  const { head, holes } = await replayed(journal)
  for (const seq of holes) await journal.putEntry(createNoopEntry({ epoch: head.epoch, seq }, 0))
  expect((await replayed(journal)).torn).toEqual([])
  expect(await wrongSums(journal, record.treeId)).toEqual([])
})

test('a journal costs a request one more call, or two if stored items must be read', async () => {
  const { path } = await freshMount()
  const worker = await workerOn(path)
  const costs = async () => {
    const name = fresh('p')
    const policy = { policy: 'path "a/*" { capabilities = ["read"] }' }
    await api('POST', `/sys/policies/acl/${name}`, policy)
    await worker.login()
    await storage.reset()
    await worker.login()
    const login = (await storage.calls()).length
    await storage.reset()
    await done('DELETE', `/sys/policies/acl/${name}`)
    return { login, removal: (await storage.calls()).length }
  }
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  const { epoch: _epoch, treeId: _treeId, ...record } = item.data
  clock.ms = Date.now()
  const plain = { ...record, mode: 'disabled' } as const
  await store.commit([replaceItem(item, item, plain)], { record: item.data, readAt: clock.ms })
  const before = await costs()
  await journaled()
  await costs()
  const after = await costs()
  expect({ before, after }).toEqual({
    before,
    after: { login: before.login + 1, removal: before.removal + 2 },
  })
})

test('tidy and the removal of a mount use one position for twenty items', async () => {
  const { path, accessor } = await freshMount()
  const entries = Array.from({ length: 45 }, (_, index) => entry('access', accessor, `i-${index}`, 100))
  await seed({ commit }, entries)
  await done('POST', `${path}/config/client`, { max_retries: 1 })
  const { treeId } = await journaled()
  const position = async () => (await journal.head())?.last ?? 0
  const before = await position()
  await done('POST', `${path}/tidy/identity-accesslist`)
  await settled()
  const { removed, failed } = (await done('GET', `${path}/tidy-status`)).body.data.identity_accesslist
  expect({ removed, failed }).toEqual({ removed: 45, failed: 0 })
  expect((await position()) - before).toBe(3)

  await seed({ commit }, entries)
  const disabling = await position()
  await done('DELETE', `/sys${path}`)
  await settled()
  expect((await api('GET', `/sys${path}`)).status).toBe(400)
  // disabling commits the mount itself, its configuration, and its sixteen partitions of entries
  expect((await position()) - disabling).toBeLessThanOrEqual(18)
  expect((await replayed(journal)).torn).toEqual([])
  expect(await wrongSums(journal, treeId)).toEqual([])
})
