import { beforeAll, describe, expect, test } from 'vitest'
import { treeRootsPk } from '../../../../shared/journal/refresh.ts'
import { type LeafLimbs, treeBucketOf, treePagePkByName } from '../../../../shared/journal/tree.ts'
import { type Key, key } from '../../../../shared/storage/kinds.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import { operatorToken } from '../../../support/set/operation-token.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests checks and repairs of the hash tree, level by level, on a primary and on a secondary.

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
let set: ClusterSet
let operator = ''

beforeAll(async () => {
  set = await clusterSet(['east', 'west', 'alone'], { aws: true })
  await set.enable('east')
  await set.join('west', 'east')
  operator = await operatorToken(set.at('east'), ['merkle-check', 'reindex'])
  for (let index = 0; index < 30; index++)
    await set.at('east').ok('POST', `/sys/policies/acl/p${index}`, POLICY)
  await set.converge()
  for (const name of ['east', 'west']) await set.at(name).minute({ hashes: true })
})

const journalOf = (name: string) => set.at(name).ports.journal
const treeIdOf = async (name: string) => (await set.at(name).record()).treeId ?? ''
const policy = (name: string) => key('policy', name)

/** Returns a new report of a cluster. */
async function report(name: string) {
  set.pass(61_000)
  const reply = await set.at(name).ok('POST', '/sys/replication/merkle-check', {})
  return reply.body.data.merkle_corruption_report
}

const maps = (found: Awaited<ReturnType<typeof report>>) => {
  const [replicated, local] = ['1', '2'].map(of => found.corrupted_tree_map[of])
  return {
    whole: found.corrupted_root,
    roots: [replicated.corrupted_subtree_root, local.corrupted_subtree_root],
    pages: [replicated.corrupted_index_tuples_map, local.corrupted_index_tuples_map],
  }
}

const CLEAN = { whole: false, roots: [false, false], pages: [null, null] }

async function reindex(name: string, options = {}): Promise<void> {
  const { body } = await set.at(name).ok('POST', '/sys/replication/reindex', options)
  expect(body.warnings[0]).toMatch(/rebuilds its Merkle tree in the background/)
  await set.settled()
}

async function itemAt(name: string, place: Key): Promise<StoredItem> {
  const [item] = await journalOf(name).readRaw([place])
  if (!item) throw new Error('there is no such item')
  return item
}

/** Changes an item without a journal entry. */
async function overwrite(
  name: string,
  place: Key,
  change: (item: StoredItem) => StoredItem | null,
): Promise<void> {
  const item = await itemAt(name, place)
  const done = await journalOf(name).transact([
    { kind: 'item', item: place, put: change(item), if: { rev: item.rev } },
  ])
  expect(done).toBe('done')
}

/** Returns the numbers of the page and the bucket of an item. */
async function numbers(name: string, { kind, pk, sk }: Key): Promise<[page: string, subpage: number]> {
  const bucket = treeBucketOf(await treeIdOf(name), kind, pk, sk)
  return [String(Number.parseInt(bucket.pk.slice(-2), 16)), Number.parseInt(bucket.sk, 16)]
}

describe('a check of the Merkle tree', () => {
  test('of a sound tree finds nothing, and returns root hashes without maps', async () => {
    for (const name of ['east', 'west']) {
      const found = await report(name)
      expect(maps(found)).toEqual(CLEAN)
      expect(found.corrupted_tree_map['1']).toMatchObject({ tree_type: 'replicated' })
      expect(Buffer.from(found.corrupted_tree_map['2'].root_hash, 'base64')).toHaveLength(20)
    }
    const { body } = await set.at('west').ok('GET', '/sys/replication/dr/status')
    expect(body.data).toMatchObject({ corrupted_merkle_tree: false })
    expect(Number(body.data.last_corruption_check_epoch) * 1000).toBeGreaterThan(set.clock.now() - 10_000)
  })

  test('finds a changed item, bucket, page and root, each at its level, until a reindex', async () => {
    const treeId = await treeIdOf('west')
    const journal = journalOf('west')
    await overwrite('west', policy('p1'), item => ({ ...item, data: { text: 'other' } }))
    const { pk, sk } = treeBucketOf(treeId, 'policy', policy('p2').pk, 'p2')
    await journal.transact([
      { kind: 'bucket', bucket: { pk, sk }, sums: new Map([['p', [1n, 0n, 0n] as LeafLimbs]]) },
    ])
    const pagesPk = treePagePkByName(treeId, 'local', 'root')
    const page = (await journal.pageHashes(pagesPk)).get('07')
    await journal.putPageHash(pagesPk, '07', { ...page, hash: 'other', asOf: page?.asOf ?? '' }, page?.hash)
    const whole = (await journal.pageHashes(treeRootsPk(treeId))).get('whole')
    await journal.putPageHash(
      treeRootsPk(treeId),
      'whole',
      { ...whole, hash: 'other', asOf: whole?.asOf ?? '' },
      whole?.hash,
    )
    const [[one, sub], [two, other]] = [
      await numbers('west', policy('p1')),
      await numbers('west', policy('p2')),
    ]
    const expected = {
      whole: true,
      roots: [false, true],
      pages: [
        { [one]: { corrupted: false, subpages: [sub] }, [two]: { corrupted: true, subpages: [other] } },
        { 7: { corrupted: true, subpages: [] } },
      ],
    }
    expect(maps(await report('west'))).toEqual(expected)
    const status = async () => (await set.at('west').ok('GET', '/sys/replication/dr/status')).body.data
    expect(await status()).toMatchObject({
      corrupted_merkle_tree: true,
      last_reindex_epoch: expect.stringMatching(/^[1-9]/),
    })
    await reindex('west')
    expect(await status()).toMatchObject({
      corrupted_merkle_tree: false,
      last_reindex_epoch: String(Math.floor(set.clock.now() / 1000)),
    })
    expect(maps(await report('west'))).toEqual(CLEAN)
  })

  test('runs once for concurrent requests, and its report answers requests for a minute', async () => {
    set.pass(61_000)
    const asked = () => operate('merkle-check')
    const [one, two] = await Promise.all([asked(), asked()])
    const times = [one, two, await asked()].map(
      ({ body }) => body.data.merkle_corruption_report.last_corruption_check_epoch,
    )
    expect(new Set(times).size).toBe(1)
    set.pass(61_000)
    const later = (await asked()).body.data.merkle_corruption_report.last_corruption_check_epoch
    expect(times).not.toContain(later)
  })

  test('that outlasts its request continues; a later request joins the check and gets the check’s report', async () => {
    set.pass(61_000)
    const spot = { cluster: 'west', process: 'on-operation', step: 'Scan', at: 2, when: 'before' } as const
    const { reached, thaw } = set.freezeAt(spot)
    const begun = set.clock.now()
    const early = operate('merkle-check')
    await reached
    const { status, text, headers } = await early
    expect([status, text]).toEqual([503, expect.stringContaining('merkle-check')])
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(set.clock.now() - begun).toBeGreaterThanOrEqual(20_000)
    const [, name] = /operation ([0-9a-f-]{36})/.exec(text) ?? []
    const again = operate('merkle-check')
    thaw()
    const { body } = await again
    expect(body.data.merkle_corruption_report).toMatchObject({ corrupted_root: false })
    const [check] = await set.at('west').ports.store.read([key('tree-check')])
    expect(check?.data.operation).toBe(name)
  })

  test('during writes finds nothing', async () => {
    let writing = true
    const writes = async (of: string) => {
      for (let index = 0; writing; index++) {
        await set.at('east').ok('POST', `/sys/policies/acl/${of}${index % 7}`, POLICY)
        await set.clock.sleep(20)
      }
    }
    const pulls = async () => {
      while (writing) await set.at('west').pull()
    }
    const busy = [writes('x'), writes('y'), pulls()]
    const [east, west] = await Promise.all([report('east'), report('west')])
    writing = false
    await Promise.all(busy)
    expect(maps(east)).toEqual(CLEAN)
    expect(maps(west)).toEqual(CLEAN)
    await set.converge()
  })

  test.each<[string, string, string, object, number, RegExp]>([
    ['alone', 'merkle-check', 'POST', {}, 400, /keeps no tree/],
    ['alone', 'reindex', 'POST', {}, 400, /keeps no tree/],
    ['east', 'dr/secondary/merkle-check', 'POST', {}, 400, /not a DR secondary/],
    ['east', 'dr/secondary/reindex', 'POST', {}, 400, /not a DR secondary/],
    ['east', 'reindex', 'POST', { diff: true }, 400, /follows no primary/],
  ])('is refused: %s %s', async (name, path, method, body, status, text) => {
    const reply = await set.at(name).request(method, `/sys/replication/${path}`, body)
    expect(reply.status).toBe(status)
    expect(reply.text).toMatch(text)
  })
})

const operate = (path: string, more = {}) =>
  set
    .at('west')
    .request(
      'POST',
      `/sys/replication/dr/secondary/${path}`,
      { dr_operation_token: operator, ...more },
      { token: '' },
    )

describe('a reindex', () => {
  test('runs once at a time, and status shows its progress', async () => {
    const { reached, thaw } = set.freezeAt({
      cluster: 'west',
      process: 'on-operation',
      step: 'Scan',
      at: 2,
      when: 'before',
    })
    expect((await operate('reindex')).status).toBe(200)
    await reached
    const { body } = await set.at('west').ok('GET', '/sys/replication/dr/status')
    expect(body.data).toMatchObject({ reindex_in_progress: true, reindex_stage: 'scanning' })
    const second = await operate('reindex')
    expect([second.status, second.text]).toEqual([400, expect.stringMatching(/already/)])
    thaw()
    await set.settled()
    const after = (await set.at('west').ok('GET', '/sys/replication/dr/status')).body.data
    expect(after).not.toHaveProperty('reindex_in_progress')
  })

  test('on a primary sends the stored items to secondaries, and completes although a process dies at any call', async () => {
    await overwrite('east', policy('p3'), item => ({ ...item, data: { text: 'path "changed" {}' } }))
    await journalOf('east').transact([
      {
        kind: 'bucket',
        bucket: treeBucketOf(await treeIdOf('east'), 'policy', 'policy', 'p4'),
        sums: new Map([['p', [7n, 0n, 0n]]]),
      },
    ])
    let deaths = 0
    for (const at of [5, 640, 1300])
      set.trap({
        cluster: 'east',
        process: 'on-operation',
        at,
        does: 'dies',
        when: at % 20 ? 'before' : 'after',
        struck: () => {
          deaths += 1
        },
      })
    await reindex('east', { force: true })
    expect(deaths).toBe(3)
    expect(maps(await report('east'))).toEqual(CLEAN)
    await set.converge()
    expect((await itemAt('west', policy('p3'))).data).toEqual({ text: 'path "changed" {}' })
  })

  test('with skip_flush leaves the hashes to the journal worker', async () => {
    const treeId = await treeIdOf('west')
    const hashes = await journalOf('west').pageHashes(treePagePkByName(treeId, 'local', 'root'))
    const page = hashes.get('09')
    await journalOf('west').putPageHash(
      treePagePkByName(treeId, 'local', 'root'),
      '09',
      { ...page, hash: 'other', asOf: page?.asOf ?? '' },
      page?.hash,
    )
    expect((await operate('reindex', { skip_flush: true })).status).toBe(200)
    await set.settled()
    const pageNow = async () =>
      (await journalOf('west').pageHashes(treePagePkByName(treeId, 'local', 'root'))).get('09')
    expect((await pageNow())?.hash).toBe('other')
    await set.at('west').minute({ hashes: true })
    expect((await pageNow())?.hash).toBe(page?.hash)
  })

  test('with diff names keys that were changed without a journal entry, and fetches their items', async () => {
    // an earlier test repaired the tree, but the items still differ from the primary's
    await overwrite('west', policy('p1'), item => ({ ...item, data: { text: 'other' } }))
    await overwrite('west', policy('p5'), item => ({ ...item, data: { text: 'other' } }))
    await overwrite('west', policy('p6'), () => null)
    const put = policy('only-here')
    const like = await itemAt('west', policy('p7'))
    await journalOf('west').transact([
      { kind: 'item', item: put, put: { ...like, sk: put.sk }, if: 'absent' },
    ])
    const before = set.at('west').told.length
    expect((await operate('reindex', { diff: true })).status).toBe(200)
    await set.settled()
    const told = set
      .at('west')
      .told.slice(before)
      .filter(({ message }) => message.startsWith('items differ from those of the primary'))
    const names = ['only-here', 'p1', 'p5', 'p6'].map(name => `policy policy/${name}`)
    expect(told.map(({ fields }) => [...(fields as { items: string[] }).items].sort())).toEqual([names])
    await set.converge()
    const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
    expect(west?.items).toEqual(east?.items)
    expect(west?.kept).toEqual(west?.right)
    expect((await itemAt('west', policy('p5'))).data).toEqual((await itemAt('east', policy('p5'))).data)
    expect(maps(await report('west'))).toEqual(CLEAN)
  })
})
