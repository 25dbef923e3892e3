import { beforeEach, describe, expect, test } from 'vitest'
import { fillJournalHoles } from '../../../../shared/journal/density.ts'
import { refreshTreeHashes, treeRootsPk } from '../../../../shared/journal/refresh.ts'
import {
  addLiveSums,
  computeBucketDeltas,
  hashTreePage,
  hashTreeRoot,
  type LeafLimbs,
  readStoredLeaf,
  treePageNames,
  treePagePkByName,
} from '../../../../shared/journal/tree.ts'
import type { ClusterRead } from '../../../../shared/ports.ts'
import { maintainJournal, refreshDueTreeHashes } from '../../../../shared/replication/primary/maintain.ts'
import {
  type Change,
  createItem,
  putItem,
  removeItem,
  replaceItem,
} from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { portsWith } from '../../../builders/ports.ts'
import { cluster, fresh, storage } from '../../../support/service/cluster.ts'
import { begun, replayed } from '../../../support/service/journal.ts'
import { tableStore } from '../../../support/tables/store.ts'

// Tests the hash tree of a primary: all roots belong to one position, whatever clients write in the meantime.

const { store, journal, clock } = tableStore(cluster)
const ports = portsWith({
  store,
  journal,
  clock: { now: () => clock.ms, sleep: async () => undefined },
})
let record = {} as ClusterRead['record']
let owner = ''
const place = (name: string) => key('sts-role', owner, name)
const role = (text: string) => ({ role: text, externalId: '' })
const commit = (...changes: Change[]) => store.commit(changes, { record, readAt: clock.ms })

/** Computes the root of the hash tree from journal entries alone, up to a position. */
async function rootAt(seq: number, of: 'replicated' | 'local'): Promise<string> {
  const { entries } = await replayed(journal)
  const items = new Map<string, Parameters<typeof computeBucketDeltas>[1][number]>()
  for (const change of entries.slice(0, seq).flatMap(entry => entry?.body ?? []))
    items.set(`${change.pk} ${change.sk}`, {
      ...change,
      prev: null,
      next: change.item && readStoredLeaf(change.item),
    })
  const now = Math.floor(clock.ms / 1000)
  const pages = new Map<string, Map<string, LeafLimbs>>()
  for (const { bucket, sums } of computeBucketDeltas(record.treeId ?? '', [...items.values()], now)) {
    const page = pages.get(bucket.pk) ?? new Map<string, LeafLimbs>()
    pages.set(bucket.pk, page.set(bucket.sk, addLiveSums(sums, now)))
  }
  return hashTreeRoot(
    treePageNames.map(page =>
      hashTreePage(pages.get(treePagePkByName(record.treeId ?? '', of, page)) ?? new Map()),
    ),
  )
}

const maintained = async (): Promise<void> => {
  await maintainJournal(ports)
  await refreshDueTreeHashes(ports, 'now')
}
const roots = () => journal.pageHashes(treeRootsPk(record.treeId ?? ''))

async function agree(seq: number): Promise<void> {
  const found = await roots()
  for (const of of ['replicated', 'local'] as const) {
    expect(found.get(of)?.asOf).toBe(`${record.epoch}/${String(seq).padStart(12, '0')}`)
    expect(found.get(of)?.hash, of).toBe(await rootAt(seq, of))
  }
}

beforeEach(async () => {
  owner = fresh('owner')
  clock.ms = Date.now()
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  record = { ...item.data, ...(await begun(journal)) }
  await store.commit([replaceItem(item, item, record)], { record: item.data, readAt: clock.ms })
  await storage.reset()
})

describe('roots of the Merkle tree', () => {
  test('cover all journal entries, after repeated maintenance', async () => {
    await commit(createItem(place('a'), role('a')), createItem(place('b'), role('b')))
    await maintained()
    await agree(1)
    await commit(putItem(place('a'), role('a2')), removeItem(place('b')))
    const expires = Math.floor(clock.ms / 1000) + 1000
    await commit(createItem(key('token', owner), { createdAt: 1 } as never, { expires }))
    await maintained()
    await agree(3)
  })

  test('cover entries up to the last dense position, without later entries', async () => {
    await commit(createItem(place('a'), role('a')))
    await journal.allocate(record.epoch ?? '')
    await commit(putItem(place('a'), role('later')), createItem(place('b'), role('later')))
    const head = await journal.head()
    if (!head) throw new Error('no head')
    const around = { journal, treeId: record.treeId ?? '', head, now: Math.floor(clock.ms / 1000) }
    expect(await refreshTreeHashes(around)).toBeGreaterThan(0)
    await agree(1)
    expect(await fillJournalHoles(ports, 'below')).toBe(3)
    await maintained()
    await agree(3)
  })

  test('cost nothing if no item has changed', async () => {
    await commit(createItem(place('a'), role('a')))
    await maintained()
    // a write with a late answer counts as refused, so its hash is computed again
    await maintained()
    await storage.reset()
    await refreshDueTreeHashes(ports, 'now')
    expect((await storage.calls()).length).toBeLessThanOrEqual(4)
  })

  test('cost no more than the changed pages', async () => {
    await commit(createItem(place('a'), role('a')))
    await maintained()
    await commit(putItem(place('a'), role('b')))
    await storage.reset()
    await refreshDueTreeHashes(ports, 'now')
    expect((await storage.calls()).length).toBeLessThanOrEqual(15)
    await agree(2)
  })

  test('are not maintained on a cluster without a journal', async () => {
    const [item] = await store.read([key('cluster')])
    if (!item) throw new Error('no record')
    await store.commit([replaceItem(item, item, { ...item.data, mode: 'disabled' })], {
      record: item.data,
      readAt: clock.ms,
    })
    await storage.reset()
    await maintained()
    expect((await storage.calls()).length).toBe(2)
  })
})
