import { expect, test } from 'vitest'
import { noopCell } from '../../../shared/replication/cell.ts'
import { replace } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { api, cluster, fresh, freshMount, storage } from '../../support/cluster.ts'
import { begun, replayed, wrongSums } from '../../support/journal.ts'
import { tableStore } from '../../support/store.ts'
import { workerOn } from '../../support/workers.ts'

// The whole service while it keeps a journal.

const { store, journal, clock } = tableStore(cluster)

test('64 logins at once, and as many other writes: none is turned away, nothing is in every transaction (R1), the journal is sound', async () => {
  const { path } = await freshMount()
  const workers = [await workerOn(path), await workerOn(path), await workerOn(path), await workerOn(path)]
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  const record = { ...item.data, ...(await begun(journal)) }
  clock.ms = Date.now()
  expect(await store.commit([replace(item, item, record)], { record: item.data, readAt: clock.ms })).toBe(
    'done',
  )
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
