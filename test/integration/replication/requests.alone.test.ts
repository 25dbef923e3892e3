import { expect, test } from 'vitest'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import { noopCell } from '../../../shared/replication/cell.ts'
import { replace } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { api, cluster, done, fresh, freshMount, settled, storage } from '../../support/cluster.ts'
import { begun, replayed, wrongSums } from '../../support/journal.ts'
import { entry } from '../../support/lists.ts'
import { seed, tableStore } from '../../support/store.ts'
import { workerOn } from '../../support/workers.ts'

// The whole service while it keeps a journal.

const { store, journal, clock, commit } = tableStore(cluster)

/** Begins a journal, and gives the cluster record that says so. */
async function journaled(): Promise<ClusterRecord & { life: string }> {
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  const record = { ...item.data, ...(await begun(journal)) }
  clock.ms = Date.now()
  expect(await store.commit([replace(item, item, record)], { record: item.data, readAt: clock.ms })).toBe(
    'done',
  )
  return record
}

test('64 logins at once, and as many other writes: none is turned away, nothing is in every transaction (R1), the journal is sound', async () => {
  const { path } = await freshMount()
  const workers = [await workerOn(path), await workerOn(path), await workerOn(path), await workerOn(path)]
  const record = await journaled()
  for (const worker of workers) await worker.login()
  await storage.awsLike(5)
  await storage.reset()
  await storage.awsLike(5)
  const replies = await Promise.all(
    Array.from({ length: 64 }, async (_, index) => [
      await workers[index % 4]?.tryLogin(),
      await api('POST', `/sys/policies/acl/${fresh('p')}`, {
        policy: 'path "a/*" { capabilities = ["read"] }',
      }),
    ]),
  )
  const calls = await storage.calls()
  await storage.reset()
  const statuses = Map.groupBy(replies.flat(), reply => reply?.status)
  expect([...statuses.keys()].sort()).toEqual([200, 204])
  const transactions = calls.filter(({ operation }) => operation === 'TransactWriteItems')
  expect(transactions.length).toBeGreaterThanOrEqual(128)
  const places = transactions.flatMap(({ writes }) =>
    writes.map(({ table, pk, sk }) => `${table} ${pk} ${sk}`),
  )
  const most = Math.max(...[...Map.groupBy(places, place => place).values()].map(list => list.length))
  expect(most).toBeLessThan(transactions.length / 8)
  expect(places.filter(place => place.includes(' journal head'))).toEqual([])
  const { head, holes } = await replayed(journal)
  for (const seq of holes) await journal.putCell(noopCell({ epoch: head.epoch, seq }, 0))
  expect((await replayed(journal)).torn).toEqual([])
  expect(await wrongSums(journal, record.life)).toEqual([])
})

test('tidy, and the removal of a mount, take a position for twenty items', async () => {
  const { path, accessor } = await freshMount()
  const entries = Array.from({ length: 45 }, (_, index) => entry('access', accessor, `i-${index}`, 100))
  await seed({ commit }, entries)
  await done('POST', `${path}/config/client`, { max_retries: 1 })
  const { life } = await journaled()
  const position = async () => (await journal.head())?.seq ?? 0
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
  // the mount's own commit, its configuration, and its sixteen partitions of entries
  expect((await position()) - disabling).toBeLessThanOrEqual(18)
  expect((await replayed(journal)).torn).toEqual([])
  expect(await wrongSums(journal, life)).toEqual([])
})
