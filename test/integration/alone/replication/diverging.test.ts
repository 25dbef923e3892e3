import { beforeAll, expect, test } from 'vitest'
import { computeItemLeaf } from '../../../../shared/journal/tree.ts'
import { shortKeyName } from '../../../../shared/replication/secondary/diverging.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { operatorToken } from '../../../support/set/operation-token.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Changes a primary's items repeatedly without journal entries. One item keeps differing, and the secondary
// follows in all other items. After a repair of the primary the secondary starts again.

const X = key('policy', 'x')
let set: ClusterSet
let operator = ''

const write = (name: string, text: string) =>
  set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: `path "${text}" {}` })

beforeAll(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  await set.join('west', 'east')
  operator = await operatorToken(set.at('east'), ['promote', 'recover'])
  await write('x', 'first')
  await set.converge()
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

const status = async () => (await set.at('west').ok('GET', '/sys/replication/dr/status')).body.data

/** Changes an item without a journal entry, then commits a change of the item. */
async function divergeOnce(text: string): Promise<void> {
  const { journal } = set.at('east').ports
  const [item] = await journal.readRaw([X])
  if (!item) throw new Error('there is no such item')
  const flipped = { ...item, rev: `flipped ${text}`, data: { text: 'flipped' } }
  const put = { ...flipped, leaf: computeItemLeaf(flipped) }
  expect(await journal.transact([{ kind: 'item', item: X, put, if: { rev: item.rev } }])).toBe('done')
  await write('x', text)
  await set.converge()
}

const syncsOf = () =>
  set.at('west').told.filter(({ message }) => message.startsWith('stored items differ')).length

test('after three syncs a secondary gives up items that keep changing outside the primary’s journal, and follows all other items', async () => {
  for (const text of ['one', 'two', 'three']) await divergeOnce(text)
  expect(syncsOf()).toBe(3)
  expect(await status()).toMatchObject({ corrupted_merkle_tree: false, state: 'stream-wals' })
  await divergeOnce('four')
  // no sync fetches the item any more, and journal entries are still applied
  for (const text of ['five', 'six']) {
    await divergeOnce(text)
    await write('other', text)
  }
  await set.converge()
  expect(syncsOf()).toBe(4)
  expect(await status()).toMatchObject({
    corrupted_merkle_tree: true,
    state: 'stream-wals',
    connection_state: 'ready',
    diverging_items: [shortKeyName(X)],
  })
  const { data } = (await set.at('west').ports.journal.readRaw([key('policy', 'other')]))[0] ?? {}
  expect(data).toEqual({ text: 'path "six" {}' })
})

test('the audit log and the report name the given-up items', async () => {
  const entries = set.at('west').audited.filter(entry => (entry as { event?: string }).event === 'divergence')
  expect(entries).toEqual([expect.objectContaining({ count: 1, items: ['policy policy/x'] })])
  const { body } = await set.at('west').ok('GET', '/sys/replication/dr/divergence')
  expect(body.data).toMatchObject({
    diverging: [{ kind: 'policy', key: ['policy', 'x'], given_up: true, name: shortKeyName(X) }],
  })
})

test('while items are given up, a promotion without force is refused', async () => {
  const { status: code, text } = await operate('promote')
  expect([code, text]).toEqual([
    503,
    expect.stringContaining('items keep differing from those of the primary'),
  ])
})

test('after a repair of the primary and recover on the secondary, primary and secondary have the same items', async () => {
  await set.at('east').ok('POST', '/sys/replication/reindex', {})
  await set.settled()
  expect((await operate('recover')).status).toBe(200)
  await set.settled()
  await set.converge()
  const now = await status()
  expect(now).toMatchObject({ corrupted_merkle_tree: false })
  expect(now).not.toHaveProperty('diverging_items')
  const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
  expect(west?.items).toEqual(east?.items)
  expect(west?.kept).toEqual(west?.right)
  expect(west?.kept).toEqual(east?.kept)
  await divergeOnce('again')
  expect(syncsOf()).toBe(5)
  expect(await status()).toMatchObject({ corrupted_merkle_tree: false })
})
