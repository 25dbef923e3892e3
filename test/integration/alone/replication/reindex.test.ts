import { beforeAll, expect, test } from 'vitest'
import { treeRootsPk } from '../../../../shared/journal/refresh.ts'
import { treeBucketOf, treePagePkByName } from '../../../../shared/journal/tree.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { sized } from '../../../support/runner/size.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { deathsAtEachCall } from '../../../support/set/scenes.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests a reindex while clients write, in which a worker dies at each of its calls.

const R = '/sys/replication/dr'
/** Number of calls between two deaths. Most of the more than a thousand calls of a reindex read one page. */
const EVERY = sized<[step: string, every: number][]>(
  [['', 900]],
  [
    ['', 16],
    ...['TransactWriteItems', 'PutItem', 'BatchGetItem', 'Scan', 'Items'].map((step): [string, number] => [
      step,
      1,
    ]),
  ],
)
const names = ['east', 'west'] as const

let from: Warm

beforeAll(async () => {
  const warm = await warmSnapshot({ memory: true, names })
  const set = await clusterSet(names, { from: warm, memory: true })
  for (const name of ['p', 'changed', 'gone'])
    await set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: `path "${name}" {}` })
  await set.converge()
  for (const name of names) await set.at(name).minute({ hashes: true })
  // wait for the comparison after the first sync, which would repair the damage before the reindex
  set.pass(10_000)
  await set.converge()
  for (const name of names) await set.at(name).minute({ hashes: true })
  from = { ...(await set.snapshot()), operator: warm.operator }
})

const policy = (name: string) => key('policy', name)

/** Changes an item of west without a journal entry. */
async function overwrite(
  { at }: ClusterSet,
  name: string,
  change: (item: StoredItem) => StoredItem | null,
): Promise<void> {
  const { journal } = at('west').ports
  const [item] = await journal.readRaw([policy(name)])
  if (!item) throw new Error('there is no such item')
  const put = change(item)
  const done = await journal.transact([{ kind: 'item', item: policy(name), put, if: { rev: item.rev } }])
  expect(done).toBe('done')
}

/** Causes every kind of damage: a changed, a deleted and an extra item, wrong sums, a wrong page hash, and a wrong root. */
async function damage(set: ClusterSet): Promise<void> {
  const { journal } = set.at('west').ports
  const { treeId = '' } = await set.at('west').record()
  await overwrite(set, 'changed', item => ({ ...item, data: { text: 'other' } }))
  await overwrite(set, 'gone', () => null)
  const [like] = await journal.readRaw([policy('p')])
  if (!like) throw new Error('there is no such item')
  const extra = policy('extra')
  await journal.transact([{ kind: 'item', item: extra, put: { ...like, sk: extra.sk }, if: 'absent' }])
  await journal.transact([
    {
      kind: 'bucket',
      bucket: treeBucketOf(treeId, 'policy', 'policy', 'p'),
      sums: new Map([['p', [1n, 0n, 0n]]]),
    },
  ])
  for (const [root, page] of [
    [treePagePkByName(treeId, 'local', 'root'), '07'],
    [treeRootsPk(treeId), 'whole'],
  ] as const) {
    const stored = (await journal.pageHashes(root)).get(page)
    if (!stored) throw new Error('there is no such hash')
    await journal.putPageHash(root, page, { ...stored, hash: 'other' }, stored.hash)
  }
}

const operate = (set: ClusterSet, path: string, body: object = {}) =>
  set.at('west').request('POST', `${R}/secondary/${path}`, { dr_operation_token: from.operator, ...body })

const statusOf = async (set: ClusterSet) => (await set.at('west').ok('GET', `${R}/status`)).body.data

/** Sends another request during the reindex, which must be refused, and lets clients write. */
async function madeAnew(set: ClusterSet): Promise<void> {
  expect((await operate(set, 'reindex', { diff: true })).status).toBe(200)
  const second = await operate(set, 'reindex')
  expect([second.status, second.text]).toEqual([400, expect.stringMatching(/already/)])
  expect(await statusOf(set)).toMatchObject({ reindex_in_progress: true })
  for (const name of ['p', 'meanwhile'])
    await set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: 'path "meanwhile" {}' })
  await set.settled()
}

/** Checks that the reindex ended, that it listed the damaged keys, and that all items equal the primary's. */
async function isWhole(set: ClusterSet): Promise<void> {
  const [{ data } = {}] = await set.at('west').ports.store.read([key('tree-reindex')])
  expect(data?.stage).toBe('done')
  expect(await statusOf(set)).not.toHaveProperty('reindex_in_progress')
  await set.converge()
  const [east, west] = await Promise.all(names.map(set.everything))
  expect(west?.items).toEqual(east?.items)
  expect(west?.kept).toEqual(west?.right)
  const { body } = await operate(set, 'merkle-check')
  expect(body.data.merkle_corruption_report).toMatchObject({
    corrupted_root: false,
    corrupted_tree_map: Object.fromEntries(
      ['1', '2'].map(of => [of, { corrupted_subtree_root: false, corrupted_index_tuples_map: null }]),
    ),
  })
}

test.each(EVERY)(
  'a reindex whose worker dies at any call is continued, and all items equal the primary’s: %s',
  async (step, every) => {
    const who = { cluster: 'west', process: 'on-operation', step }
    const scene = { who, before: damage, breaks: true, act: madeAnew, holds: isWhole }
    expect(await deathsAtEachCall(from, scene, every)).toBeGreaterThan(0)
  },
)
