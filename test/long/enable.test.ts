import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { expect, inject, test } from 'vitest'
import { createEngineClient } from '../../infra/local/engine/engine.ts'
import { createJobRun } from '../../shared/jobs/job.ts'
import { readStoredLeafInTree } from '../../shared/journal/tree.ts'
import type { ClusterRecord } from '../../shared/model/cluster.ts'
import type { ClusterRead } from '../../shared/ports.ts'
import { backfillAllItems } from '../../shared/replication/primary/backfill.ts'
import { removeJournalMarks } from '../../shared/replication/primary/detach.ts'
import {
  beginOwnJournal,
  createBackfillJob,
  createMarksRemovalJob,
  endJournalKeeping,
} from '../../shared/replication/primary/enable.ts'
import { putItem, replaceItem } from '../../shared/storage/changes.ts'
import { key } from '../../shared/storage/kinds.ts'
import { portsWith } from '../builders/ports.ts'
import { differences, replayed, standing, wrongSums } from '../support/service/journal.ts'
import { asAlone, member } from '../support/set/pair.ts'

// Begins a journal over many items in real time while clients write, and ends the journal again.

/** Number of items that the journal takes in. `ITEMS=10000 npm run test:long -- enable` takes fewer items. */
const ITEMS = Number(process.env['ITEMS'] ?? 100_000)
/** Client writes a second. */
const RATE = 200
/**
 * Milliseconds for which a client writes with a cluster record from before the journal, which may be
 * this old.
 */
const LATE_MS = 20_000

const seconds = (ms: number): string => `${(ms / 1000).toFixed(0)} s`
const print = (text: string) => process.stderr.write(`${text}\n`)

test(`a journal over ${ITEMS} items includes all items during ${RATE} writes a second and late writes, and ending the journal makes all items plain again`, async () => {
  const at = await member({
    get ms() {
      return Date.now()
    },
    set ms(_passed: number) {},
  })
  await asAlone(at)
  const clock = { now: Date.now, sleep: async (ms: number) => void (await setTimeout(ms)) }
  const ports = portsWith({ ...at, clock })
  const { store, journal } = at
  const record = async (): Promise<ClusterRead> => {
    const readAt = Date.now()
    const [item] = await store.read([key('cluster')])
    if (!item) throw new Error('there is no cluster record')
    return { record: item.data, readAt }
  }
  const become = async (change: (before: ClusterRecord) => ClusterRecord) => {
    const [item] = await store.read([key('cluster')])
    if (!item) throw new Error('there is no cluster record')
    expect(await store.commit([replaceItem(item, item, change(item.data))], await record())).toBe('done')
  }
  const finished = async <T extends object>(work: (job: T) => Promise<unknown>, first: T) => {
    for (let job = first; ; ) {
      const result = (await work(job)) as 'done' | { again: T }
      if (result === 'done') return
      job = result.again
    }
  }
  const run = () => createJobRun(ports, Date.now() + 600_000)
  const placeOf = (index: number) => key('sts-role', `owner${index % 97}`, `n${index}`)

  await seed(at, placeOf)
  const old = await record()
  const { head, ...begun } = await beginOwnJournal(ports, old.record)
  expect(await journal.transact([head])).toBe('done')
  await become(before => ({ ...before, mode: 'primary', treeComplete: false, ...begun }))

  // clients that write all the time, and one client that has read the cluster record before the journal began
  const counts = { written: 0, refused: 0, late: 0 }
  let ended = false
  const write = async (as: ClusterRead) => {
    const index = Math.floor(Math.random() * ITEMS)
    const change = putItem(placeOf(index), { role: `written ${index}`, externalId: '' })
    return store.commit([change], as)
  }
  const client = async () => {
    let as = await record()
    let next = Date.now()
    while (!ended) {
      if (Date.now() - as.readAt > 5000) as = await record()
      const result = await write(as).catch(() => 'busy')
      if (result === 'done') counts.written += 1
      else counts.refused += 1
      next = Math.max(next + 10_000 / RATE, Date.now() - 1000)
      await setTimeout(Math.max(0, next - Date.now()))
    }
  }
  const latecomer = async () => {
    while (Date.now() - old.readAt < LATE_MS) {
      const result = await write(old).catch(() => 'busy')
      if (result === 'done') counts.late += 1
      await setTimeout(20)
    }
  }
  const clients = [latecomer(), ...Array.from({ length: 10 }, client)]
  const began = Date.now()
  await finished(job => backfillAllItems(run(), job), createBackfillJob(begun.treeId, began))
  const took = Date.now() - began
  ended = true
  await Promise.all(clients)
  expect((await record()).record.treeComplete).toBe(true)
  const { last = 0 } = (await journal.head()) ?? {}
  const stamps = last - counts.written
  print(
    `${ITEMS} items were taken in within ${seconds(took)}, of which 30 s are waited: ${((ITEMS / (took - 30_000)) * 1000).toFixed(0)} in a second, ${stamps} positions`,
  )
  print(
    `clients wrote ${counts.written} times meanwhile (${((counts.written / took) * 1000).toFixed(0)} in a second), ${counts.refused} were refused, ${counts.late} came late`,
  )

  const items = await standing(journal)
  expect(items.filter(item => !readStoredLeafInTree(item, begun.treeId))).toEqual([])
  const { holes, torn } = await replayed(journal)
  expect({ holes, torn }).toEqual({ holes: [], torn: [] })
  expect(await differences(journal)).toEqual([])
  expect(await wrongSums(journal, begun.treeId)).toEqual([])

  const { journalStart } = await endJournalKeeping(ports, (await record()).record)
  await become(({ epoch: _epoch, treeId: _treeId, treeComplete: _built, ...before }) => ({
    ...before,
    mode: 'disabled',
    journalStart,
  }))
  const undone = Date.now()
  await finished(
    job => removeJournalMarks(run(), job),
    createMarksRemovalJob(journalStart, begun.treeId, undone),
  )
  const back = Date.now() - undone
  print(
    `they were given back plain within ${seconds(back)}: ${((ITEMS / (back - 30_000)) * 1000).toFixed(0)} in a second`,
  )
  const plain = await standing(journal)
  expect(plain.length).toBe(items.length)
  expect(plain.filter(({ pos, leaf, bucket }) => (pos ?? leaf ?? bucket) !== undefined)).toEqual([])
}, 1_800_000)

/** Stores items as a cluster without a journal does. */
async function seed(
  { tables }: Awaited<ReturnType<typeof member>>,
  placeOf: (index: number) => ReturnType<typeof key>,
) {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const documents = DynamoDBDocumentClient.from(
    createEngineClient(inject('ground').engine, 'us-east-1', credentials),
  )
  const itemOf = (index: number) => {
    const { kind, pk, sk } = placeOf(index)
    return {
      kind,
      pk,
      sk,
      rev: randomBytes(12).toString('base64url'),
      data: { role: `old ${index}`, externalId: '' },
    }
  }
  for (let from = 0; from < ITEMS; from += 25) {
    const some = Array.from({ length: Math.min(25, ITEMS - from) }, (_, index) => itemOf(from + index))
    const RequestItems = { [tables.data]: some.map(Item => ({ PutRequest: { Item } })) }
    await documents.send(new BatchWriteCommand({ RequestItems }))
  }
}
