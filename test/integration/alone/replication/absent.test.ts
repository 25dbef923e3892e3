import { expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { clusterSet } from '../../../support/set/set.ts'

// A secondary returns after its primary's journal was trimmed.

const DAY = 24 * 3_600_000

test('a secondary that was disconnected for 31 days runs a full sync, without a wipe of its tables', async () => {
  const before = await clusterSet(['east', 'west'], { memory: true })
  await before.enable('east')
  await before.join('west', 'east')
  const write = (set: typeof before, name: string, text: string) =>
    set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: `path "${text}" {}` })
  for (const name of ['stays', 'changes', 'goes']) await write(before, name, 'first')
  await before.converge()
  const { treeId } = await before.at('west').record()
  // no worker of west runs from here on
  await write(before, 'changes', 'later')
  await write(before, 'comes', 'later')
  await before.at('east').ok('DELETE', '/sys/policies/acl/goes')
  before.pass(31 * DAY)
  await before.at('east').minute()
  await write(before, 'comes', 'last')
  const { at, members } = await before.snapshot()
  // at this time DynamoDB has deleted all expired items on both clusters
  const isLeft = ({ ttl }: { ttl?: { N?: string } }) => ttl?.N === undefined || Number(ttl.N) * 1000 > at
  const kept = members.map(one => {
    const { data, cluster, ceremony } = one.items
    const left = { data: data.filter(isLeft), cluster: cluster.filter(isLeft), ceremony }
    expect(left.cluster.length).toBeLessThan(cluster.length)
    return { ...one, items: left }
  })
  const set = await clusterSet(['east', 'west'], { memory: true, from: { at, members: kept } })
  expect((await set.at('east').head()).retainedFrom).toBeGreaterThan((await set.at('west').head()).applied)
  const policy = async (name: string) =>
    (await set.at('west').ports.journal.readRaw([key('policy', name)]))[0]
  const stood = await policy('stays')
  await set.converge()
  const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
  expect(west?.items).toEqual(east?.items)
  expect(west?.kept).toEqual(west?.right)
  expect([(await policy('goes'))?.rev, (await policy('stays'))?.rev]).toEqual([undefined, stood?.rev])
  expect((await set.at('west').record()).treeId).toBe(treeId)
  expect(set.at('west').audited).not.toContainEqual(expect.objectContaining({ event: 'wiped' }))
  const { body } = await set.at('west').ok('GET', '/sys/replication/dr/status')
  expect(body.data).toMatchObject({ state: 'stream-wals', connection_state: 'ready' })
})
