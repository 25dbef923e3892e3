import { beforeAll, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// The tables of a member are restored to an earlier second, after the set has changed.

const R = '/sys/replication/dr'

const written = async (set: ClusterSet, name: string, policy: string) =>
  set.at(name).request('POST', `/sys/policies/acl/${policy}`, { policy: `path "${policy}" {}` })

const health = async (set: ClusterSet, name: string) =>
  (await set.at(name).request('GET', '/sys/health')).status

/** Makes a set whose first primary is deployed again with tables from before the switch. */
async function restoredSet(): Promise<ClusterSet> {
  const before = await clusterSet(['east', 'west'], { memory: true })
  await before.enable('east')
  await before.join('west', 'east')
  await written(before, 'east', 'old')
  await before.converge()
  const earlier = await before.snapshot()
  await promotions(before).giveToken('west')
  expect((await promotions(before).promote('west', {})).status).toBe(200)
  await before.settled()
  expect((await written(before, 'west', 'new')).status).toBe(204)
  const now = await before.snapshot()
  const members = now.members.map(one => {
    const then = earlier.members.find(({ name }) => name === one.name)
    return one.name === 'east' && then ? then : one
  })
  const set = await clusterSet(['east', 'west'], { memory: true, from: { at: now.at, members } })
  set.at('east').ports.deployment = { ...set.at('east').ports.deployment, home: 'restored tables' }
  return set
}

test('a restored primary serves no clients, and steps down by itself', async () => {
  const set = await restoredSet()
  expect((await set.at('east').record()).mode).toBe('primary')
  const refused = await written(set, 'east', 'second')
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('restored copy')])
  expect([await health(set, 'east'), await health(set, 'west')]).toEqual([503, 200])
  const { last } = await set.at('east').head()
  await set.at('east').minute()
  await set.at('east').minute()
  expect(await set.at('east').record()).toMatchObject({ mode: 'secondary' })
  expect(await set.at('east').head()).toMatchObject({ mode: 'closed', last, unfinishedSync: 'all' })
  expect([await health(set, 'east'), await health(set, 'west')]).toEqual([472, 200])
  expect((await written(set, 'west', 'goes-on')).status).toBe(204)
  // after the update the restored cluster follows the primary, and gets all items from it
  await promotions(set).follow('east', 'west')
  await set.settled()
  await set.converge()
  const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
  expect(east?.items).toEqual(west?.items)
  expect(east?.kept).toEqual(east?.right)
  expect((await set.at('east').ports.journal.readRaw([key('policy', 'second')]))[0]).toBeUndefined()
})

describe('a restored copy of a secondary that still runs', () => {
  let set: ClusterSet

  /** a copy whose tables are of different moments: the copy has one newer item, and lacks other items */
  beforeAll(async () => {
    const before = await clusterSet(['east', 'west'], { memory: true })
    await before.enable('east')
    await before.join('west', 'east')
    await promotions(before).giveToken('west')
    await written(before, 'east', 'old')
    await before.converge()
    const earlier = await before.snapshot()
    await before.at('east').ok('POST', '/sys/policies/acl/old', { policy: 'path "later" {}' })
    await before.converge()
    const copied = await before.snapshot()
    await written(before, 'east', 'new')
    await before.converge()
    const now = await before.snapshot()
    const west = (of: typeof now) => of.members.find(({ name }) => name === 'west')
    const members = now.members.map(one =>
      one.name === 'west'
        ? { ...one, items: { ...west(copied)?.items, data: west(earlier)?.items.data } }
        : one,
    ) as typeof now.members
    set = await clusterSet(['east', 'west'], { memory: true, from: { at: now.at, members } })
    set.at('west').ports.deployment = { ...set.at('west').ports.deployment, home: 'restored tables' }
  })

  test('stops following, because the original secondary has the same key, and cannot take over', async () => {
    const original = (await set.at('west').record()).id
    await set.at('west').minute()
    const { link, id } = await set.at('west').record()
    expect(id, 'a cluster of its own from now on').not.toBe(original)
    expect(link).toMatchObject({ primaryKey: '', primaryAddrs: [] })
    // late writes of the old link are rejected
    const head = { mode: 'applying', unfinishedSync: 'all', link: link?.name }
    expect(await set.at('west').head()).toMatchObject(head)
    await set.at('west').minute()
    expect(await set.at('west').record()).toMatchObject({ link, id })
    await written(set, 'east', 'goes-on')
    await set.at('west').pull()
    const { items } = await set.everything('west')
    expect(JSON.stringify(items)).not.toContain('goes-on')
    // both clusters would give their epochs the same ID, so the copy cannot be promoted even with force
    for (const given of [{}, { force: true }]) {
      const refused = await promotions(set).promote('west', given)
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('a restored copy')])
      expect(refused.text).toContain('secondary/disable makes this cluster an ordinary cluster')
    }
    expect([await health(set, 'east'), await health(set, 'west')]).toEqual([200, 472])
  })

  test('gets everything from the primary after an admission under its own name', async () => {
    await promotions(set).follow('west', 'east')
    await set.settled()
    await set.converge()
    await set.at('west').minute()
    expect((await set.at('west').record()).link).toMatchObject({ secondaryId: 'west-again' })
    const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
    expect(west?.items).toEqual(east?.items)
    // the tree's sums are in another table than the items, and were restored from another moment
    expect(west?.kept).not.toEqual(west?.right)
    await set.at('west').ok('POST', `${R}/secondary/reindex`, { dr_operation_token: OPERATION_TOKEN })
    await set.settled()
    const { kept, right } = await set.everything('west')
    expect(kept).toEqual(right)
  })
})
