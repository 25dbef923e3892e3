import { beforeEach, describe, expect, test } from 'vitest'
import { createJobRun } from '../../../../shared/jobs/job.ts'
import { endOwnEpoch, fillJournalHoles, findDenseFrontier } from '../../../../shared/journal/density.ts'
import { createNoopEntry } from '../../../../shared/journal/journal-entry.ts'
import { treeRootsPk } from '../../../../shared/journal/refresh.ts'
import { parseTreeBucketText, readStoredLeafInTree } from '../../../../shared/journal/tree.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import { backfillAllItems } from '../../../../shared/replication/primary/backfill.ts'
import { removeJournalMarks } from '../../../../shared/replication/primary/detach.ts'
import {
  beginOwnJournal,
  createBackfillJob,
  createMarksRemovalJob,
  endJournalKeeping,
} from '../../../../shared/replication/primary/enable.ts'
import { createItem, putItem, removeItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { bounds } from '../../../../shared/values/bounds.ts'
import { portsWith } from '../../../builders/ports.ts'
import { sized } from '../../../support/runner/size.ts'
import { cluster, fresh, storage } from '../../../support/service/cluster.ts'
import { differences, replayed, standing, wrongSums } from '../../../support/service/journal.ts'
import { tableStore } from '../../../support/tables/store.ts'

// Begins a journal over used tables, and ends the journal again. No item may be lost or left out, and late
// writers must do no harm. The service is not running; the test uses its tables directly.

/** The items that exist before the journal begins. */
const SIZE = sized(1000, 10_000)

const pass = (ms: number): void => {
  clock.ms += ms
}
const { store, journal, clock } = tableStore(cluster, { sleep: pass })
const ports = portsWith({
  store,
  journal,
  clock: { now: () => clock.ms, sleep: async (ms: number) => pass(ms) },
  entropy: { bytes: (length: number) => Buffer.from(fresh().repeat(4)).subarray(0, length) },
  cipher: { expectKeyring: () => undefined },
})
const run = () => createJobRun(ports, clock.ms + 3_600_000)

async function recordNow(): Promise<ClusterRecord> {
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  return item.data
}

async function become(change: (record: ClusterRecord) => ClusterRecord): Promise<void> {
  const [item] = await store.read([key('cluster')])
  if (!item) throw new Error('no record')
  expect(
    await store.commit([replaceItem(item, item, change(item.data))], { record: item.data, readAt: clock.ms }),
  ).toBe('done')
}

/** Changes the cluster record as primary/enable does. */
async function enabled(): Promise<string> {
  const { head, ...begun } = await beginOwnJournal(ports, await recordNow())
  expect(await ports.journal.transact([head])).toBe('done')
  await become(record => ({ ...record, mode: 'primary', treeComplete: false, ...begun }))
  return begun.treeId
}

/** Changes the cluster record as primary/disable does. */
async function disabled(): Promise<string> {
  const { journalStart } = await endJournalKeeping(ports, await recordNow())
  await become(({ epoch: _epoch, treeId: _treeId, treeComplete: _built, ...record }) => ({
    ...record,
    mode: 'disabled',
    journalStart,
  }))
  return journalStart
}

/** Runs a job until it is done. */
async function finished<T extends { notBefore: number }>(
  work: (payload: T) => Promise<unknown>,
  first: T,
): Promise<void> {
  for (let payload = first; ; ) {
    const result = (await work(payload)) as 'done' | { again: T }
    if (result === 'done') return
    payload = result.again
  }
}
const backfillSome = (treeId: string) =>
  finished(job => backfillAllItems(run(), job), createBackfillJob(treeId, clock.ms))
const detachOne = (since: string, treeId?: string) =>
  finished(job => removeJournalMarks(run(), job), createMarksRemovalJob(since, treeId, clock.ms))

let owner = ''
const place = (name: string) => key('sts-role', owner, name)
const own = ({ pk }: { pk: string }) => pk.startsWith(owner)
const role = (text: string) => ({ role: text, externalId: '' })
const write = async (...changes: Parameters<typeof store.commit>[0]) =>
  store.commit(changes, { record: await recordNow(), readAt: clock.ms })
const items = async () => (await standing(journal)).filter(own)

async function seeded(count: number): Promise<void> {
  for (let at = 0; at < count; at += 50)
    await write(
      ...Array.from({ length: Math.min(50, count - at) }, (_, index) =>
        createItem(place(`n${at + index}`), role('old')),
      ),
    )
}

async function sound(treeId: string): Promise<void> {
  const { holes, torn } = await replayed(journal)
  expect({ holes, torn }).toEqual({ holes: [], torn: [] })
  expect(await differences(journal)).toEqual([])
  expect(await wrongSums(journal, treeId)).toEqual([])
}

beforeEach(async () => {
  if ((await recordNow()).mode === 'primary') await disabled()
  await journal.wipe(await standing(journal), 'none')
  owner = fresh('owner')
  clock.ms = Date.now()
  await storage.reset()
})

describe('the backfill of a journal', () => {
  test(`of ${SIZE} items during writes, also by writers that are 30 s late: the journal has every item, and the sums are right`, async () => {
    await seeded(SIZE)
    const before = { record: await recordNow(), readAt: clock.ms }
    const treeId = await enabled()
    let writes = 0
    const scan = journal.scan
    // clients write during the pass, including a client that read the cluster record before the journal began
    const busy = {
      ...journal,
      scan: async (segment: Parameters<typeof scan>[0]) => {
        const page = await scan(segment)
        for (let index = 0; index < 20; index++) {
          const name = `n${(writes * 37) % SIZE}`
          writes += 1
          const [item] = await store.read([place(name)])
          if (writes % 3 === 0) await write(removeItem(place(name)))
          else if (item) await write(replaceItem(item, item, role(`new ${writes}`)))
          else await write(createItem(place(name), role(`again ${writes}`)))
          const late = { ...before, readAt: clock.ms }
          await store.commit([putItem(place(`late${writes % 9}`), role(`late ${writes}`))], late)
          await store.commit([removeItem(place(`n${(writes * 11) % SIZE}`))], late)
        }
        return page
      },
    }
    let passes = 0
    await finished(
      job => {
        passes += 1
        return backfillAllItems(
          createJobRun({ ...ports, journal: passes === 1 ? busy : journal }, clock.ms + 3_600_000),
          job,
        )
      },
      createBackfillJob(treeId, clock.ms),
    )
    expect((await recordNow()).treeComplete).toBe(true)
    expect((await items()).filter(item => !readStoredLeafInTree(item, treeId))).toEqual([])
    expect(writes).toBeGreaterThan(10)
    await sound(treeId)
    const [reindex] = await store.read([key('reindex')])
    expect(reindex?.data).toMatchObject({ treeId, stage: 'done', late: 0 })
  })

  test('starts only when no request can write without the journal any more', async () => {
    await seeded(3)
    const treeId = await enabled()
    const start = clock.ms
    await backfillSome(treeId)
    expect(clock.ms - start).toBeGreaterThanOrEqual(bounds.CHANGEOVER_WAIT_MS)
  })

  test('finds items that requests write after the first pass, in another pass', async () => {
    await seeded(3)
    const before = { record: await recordNow(), readAt: clock.ms }
    const treeId = await enabled()
    await backfillSome(treeId)
    await store.commit([putItem(place('straggler'), role('late'))], { ...before, readAt: clock.ms })
    expect(await differences(journal)).not.toEqual([])
    await backfillSome(treeId)
    await sound(treeId)
    expect((await store.read([key('reindex')]))[0]?.data).toMatchObject({ stage: 'done', late: 1 })
  })

  test('handles items of the maximum size', async () => {
    const large = 'x'.repeat(350_000)
    for (let index = 0; index < 14; index++) await write(createItem(place(`large${index}`), role(large)))
    const treeId = await enabled()
    await backfillSome(treeId)
    expect((await items()).filter(item => !readStoredLeafInTree(item, treeId))).toEqual([])
    await sound(treeId)
  })

  test('leaves items of unknown kinds unchanged', async () => {
    await seeded(3)
    const foreign = { ...place('foreign'), kind: 'put by hand', rev: 'r', data: {} } as unknown as StoredItem
    await journal.transact([{ kind: 'item', item: place('foreign'), put: foreign, if: 'absent' }])
    await backfillSome(await enabled())
    expect((await recordNow()).treeComplete).toBe(true)
    expect((await items()).filter(({ leaf }) => leaf === undefined)).toEqual([foreign])
  })

  test('continues in another run after time ran out', async () => {
    await seeded(60)
    const treeId = await enabled()
    await finished(job => backfillAllItems(createJobRun(ports, clock.ms + 1), job), {
      ...createBackfillJob(treeId, clock.ms),
      notBefore: 0,
    })
    expect((await recordNow()).treeComplete).toBe(true)
    await sound(treeId)
  })

  test('stops if the journal is ended during the backfill', async () => {
    await seeded(3)
    const treeId = await enabled()
    const since = await disabled()
    await backfillSome(treeId)
    expect((await recordNow()).treeComplete).toBeUndefined()
    expect((await items()).filter(item => item.leaf)).toEqual([])
    await detachOne(since)
  })
})

describe('ending a journal', () => {
  const plain = ({ pos, leaf, bucket }: StoredItem) => [pos, leaf, bucket].every(value => value === undefined)

  test('makes all items plain again, including new ones, and another journal can begin', async () => {
    await seeded(120)
    await backfillSome(await enabled())
    const since = await disabled()
    const [item] = await store.read([place('n5')])
    if (!item) throw new Error('n5')
    expect(
      await write(
        replaceItem(item, item, role('after')),
        removeItem(place('n6')),
        createItem(place('more'), role('more')),
      ),
    ).toBe('done')
    await detachOne(since)
    expect((await standing(journal)).every(plain)).toBe(true)
    expect((await store.read([place('n5'), place('n6'), place('more')])).map(one => one?.data.role)).toEqual([
      'after',
      undefined,
      'more',
    ])
    const treeId = await enabled()
    await backfillSome(treeId)
    await sound(treeId)
  })

  test('deletes the sums and hashes of its tree, by a job that may be interrupted at any partition', async () => {
    await seeded(40)
    const treeId = await enabled()
    await backfillSome(treeId)
    const [at] = (await items()).map(({ bucket = '' }) => parseTreeBucketText(bucket).pk)
    await journal.putPageHash(treeRootsPk(treeId), 'whole', { hash: 'h', asOf: '' })
    if (at === undefined) throw new Error('nothing was stamped')
    expect((await journal.page(at)).size).toBeGreaterThan(0)
    await detachOne(await disabled(), treeId)
    expect((await journal.page(at)).size).toBe(0)
    expect((await journal.pageHashes(treeRootsPk(treeId))).size).toBe(0)
  })

  test('before another journal begins: that journal misses no item, although marks of the first journal are left', async () => {
    await seeded(30)
    await backfillSome(await enabled())
    await disabled()
    await write(putItem(place('n3'), role('between')))
    const treeId = await enabled()
    await backfillSome(treeId)
    await sound(treeId)
    expect((await items()).every(item => readStoredLeafInTree(item, treeId))).toBe(true)
  })

  test('closes the journal exactly: a process with an allocated position cannot commit, and no position is allocated', async () => {
    await seeded(1)
    await enabled()
    const { epoch } = (await journal.head()) ?? { epoch: '' }
    const [held] = [await journal.allocate(epoch), await write(createItem(place('x'), role('x')))]
    const end = await endOwnEpoch(ports, { epoch })
    expect(end).toEqual({ epoch, seq: 2 })
    expect(await endOwnEpoch(ports, { epoch })).toEqual(end)
    expect(await journal.allocate(epoch)).toBe('refused')
    if (held === 'refused') throw new Error('held')
    const entry = { ...createNoopEntry({ epoch, seq: held.seq }, 0), id: 'late' }
    expect(await journal.transact([{ kind: 'entry', entry }])).toEqual({ condition: [0] })
    expect((await replayed(journal)).holes).toEqual([])
  })

  test('succeeds although writes to its last positions conflict for a while', async () => {
    await enabled()
    const { epoch } = (await journal.head()) ?? { epoch: '' }
    await journal.allocate(epoch)
    await storage.fault({ kind: 'conflict', when: 'before', skip: 0, times: 3, operation: 'PutItem' })
    expect(await endOwnEpoch(ports, { epoch })).toEqual({ epoch, seq: 1 })
    expect((await replayed(journal)).holes).toEqual([])
  })

  test('ends only the given epoch: a newer epoch stays open, however late the call', async () => {
    await enabled()
    const { epoch } = (await journal.head()) ?? { epoch: '' }
    await disabled()
    const later = await enabled().then(() => journal.head())
    expect(await endOwnEpoch(ports, { epoch })).toBeUndefined()
    expect(await journal.head()).toEqual(later)
  })

  test('refuses an epoch that is not higher than the head’s', async () => {
    await enabled()
    const { epoch } = (await journal.head()) ?? { epoch: '' }
    expect(await endOwnEpoch(ports, { below: epoch })).toBeUndefined()
    expect((await journal.head())?.mode).toBe('writing')
    expect(await endOwnEpoch(ports, { below: '000900.aaaaaaaaaaaa' })).toEqual({ epoch, seq: 0 })
    expect((await journal.head())?.maxEpoch).toBe(900)
  })
})

describe('a dense journal', () => {
  test('ends at the first position without an entry; holes below later entries are closed', async () => {
    await enabled()
    const { epoch } = (await journal.head()) ?? { epoch: '' }
    await write(createItem(place('a'), role('a')))
    await journal.allocate(epoch)
    await write(createItem(place('b'), role('b')))
    await journal.allocate(epoch)
    const now = async () => findDenseFrontier(journal, (await journal.head()) as never)
    expect(await now()).toBe(1)
    expect(await fillJournalHoles(ports, 'below')).toBe(3)
    expect([await now(), (await journal.head())?.applied]).toEqual([3, 3])
    expect(await fillJournalHoles(ports, 'all')).toBe(4)
    expect((await replayed(journal)).holes).toEqual([])
  })

  test('leaves a recent hole to the process that may still write the missing entry', async () => {
    await enabled()
    const { epoch } = (await journal.head()) ?? { epoch: '' }
    await journal.allocate(epoch)
    await write(createItem(place('a'), role('a')))
    const start = clock.ms
    await fillJournalHoles(ports, 'below')
    expect(clock.ms - start).toBeGreaterThanOrEqual(300)
  })
})
