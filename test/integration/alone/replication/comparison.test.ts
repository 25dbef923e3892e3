import { beforeAll, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import {
  addTreeBucket,
  computeBucketDeltas,
  computeItemLeaf,
  readStoredLeaf,
} from '../../../../shared/journal/tree.ts'
import type { SourceLink } from '../../../../shared/link/source-link.ts'
import type { ConnectToPeer } from '../../../../shared/replication/secondary/connect.ts'
import { pullFromPrimary } from '../../../../shared/replication/secondary/pull.ts'
import { readSyncSegments } from '../../../../shared/replication/sync/segments.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// After a full sync, the secondary compares its items with the primary's once its tree is built.

let set: ClusterSet

const policy = (name: string) => key('policy', name)

beforeAll(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  await set.join('west', 'east')
  for (const name of ['a', 'b', 'c'])
    await set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: `path "${name}" {}` })
  await set.converge()
})

/** Changes an item of west and its leaf in the hash tree, as a faulty sync would. */
async function missynced(name: string, change: (item: StoredItem) => StoredItem | null): Promise<void> {
  const { journal } = set.at('west').ports
  const { treeId = '' } = await set.at('west').record()
  const [like] = await journal.readRaw([policy('c')])
  const [own] = await journal.readRaw([policy(name)])
  if (!like) throw new Error('there is no such item')
  const wanted = change(own ?? like)
  const put = wanted && addTreeBucket({ ...wanted, leaf: computeItemLeaf(wanted) }, treeId)
  const next = put && readStoredLeaf(put)
  const [delta] = computeBucketDeltas(
    treeId,
    [{ ...policy(name), prev: own ? readStoredLeaf(own) : null, next }],
    0,
  )
  if (!delta) throw new Error('nothing has changed')
  const found = own ? { rev: own.rev } : ('absent' as const)
  expect(await journal.transact([{ kind: 'item', item: policy(name), put, if: found }, delta])).toBe('done')
}

const isDue = async () =>
  (await readSyncSegments(set.at('west').ports)).some(({ data }) => data?.compare === true)

const toldOf = (beginning: string) =>
  set
    .at('west')
    .told.filter(({ message }) => message.startsWith(beginning))
    .map(({ fields }) => fields)

const AFTER_SYNC = 'items differ from those of the primary after a sync'

test('the comparison finds and fetches items that a full sync has missed or left over', async () => {
  await missynced('a', item => ({ ...item, data: { text: 'other' } }))
  await missynced('b', () => null)
  await missynced('only-here', item => ({ ...item, ...policy('only-here') }))
  expect(await isDue()).toBe(true)
  // the secondary compares nothing before both clusters have hashes
  await set.at('west').pull()
  expect(toldOf(AFTER_SYNC)).toEqual([])
  for (const name of ['east', 'west']) await set.at(name).minute({ hashes: true })
  await set.converge()
  const items = ['a', 'b', 'only-here'].map(name => `policy policy/${name}`)
  expect(toldOf(AFTER_SYNC)).toEqual([{ count: 3, items: expect.arrayContaining(items) }])
  const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
  expect(west?.items).toEqual(east?.items)
  expect(west?.kept).toEqual(east?.kept)
  // the secondary compares fetched items again; then the comparison ends
  expect(await isDue()).toBe(true)
  await set.at('west').minute({ hashes: true })
  await set.at('west').pull()
  expect(await isDue()).toBe(false)
  expect(toldOf(AFTER_SYNC)).toHaveLength(1)
})

test('after three syncs a secondary gives up an item that the primary returns differently each time', async () => {
  let asked = 0
  const lying: ConnectToPeer = peer => {
    const link: SourceLink = set.at('west').connect(peer)
    return {
      ...link,
      items: async request => {
        const given = await link.items(request)
        const items = given.items.map(item => {
          if (item?.sk !== 'a') return item
          asked += 1
          const other = { ...item, data: { text: `${asked}` } }
          return { ...other, leaf: computeItemLeaf(other) }
        })
        return { ...given, items }
      },
    }
  }
  // starts a full sync, as after a long absence
  const { journal } = set.at('west').ports
  await journal.moveHead(headMoves.requestSync(await set.at('west').head(), 'all'))
  await set.at('west').pull()
  await missynced('a', item => ({ ...item, data: { text: 'other' } }))
  for (let rounds = 0; rounds < 8 && (await isDue()); rounds++) {
    await set.at('west').minute({ hashes: true })
    set.pass(30_000)
    await pullFromPrimary(set.at('west').as('on-pull'), lying, { deadline: set.clock.now() + 9000 })
  }
  expect(await isDue()).toBe(false)
  expect(toldOf('items still differ from the primary')).toEqual([
    expect.objectContaining({ count: 1, items: ['policy policy/a'] }),
  ])
  const { body } = await set.at('west').ok('GET', '/sys/replication/dr/status')
  expect(body.data).toMatchObject({ corrupted_merkle_tree: true, diverging_items: [expect.any(String)] })
  await set.at('east').ok('POST', '/sys/policies/acl/b', { policy: 'path "later" {}' })
  await set.converge()
  expect((await journal.readRaw([policy('b')]))[0]?.data).toEqual({ text: 'path "later" {}' })
})
