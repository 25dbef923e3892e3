import { expect, test } from 'vitest'
import { key } from '../../../shared/storage/kinds.ts'
import { OPERATION_TOKEN, promotions } from '../../support/promotion.ts'
import { type ClusterSet, clusterSet } from '../../support/set.ts'

// The tables of a primary are restored to an earlier second, while another cluster has become the primary since.

const R = '/sys/replication/dr'

const written = async (set: ClusterSet, name: string, policy: string) =>
  set.at(name).request('POST', `/sys/policies/acl/${policy}`, { policy: `path "${policy}" {}` })

const health = async (set: ClusterSet, name: string) =>
  (await set.at(name).request('GET', '/sys/health')).status

/** A set whose first primary has been put up again from tables of before the switch. */
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

test('an old record of a role makes no second primary: it serves nobody, and steps down by itself', async () => {
  const set = await restoredSet()
  expect((await set.at('east').record()).mode).toBe('primary')
  const refused = await written(set, 'east', 'second')
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('restored copy')])
  expect([await health(set, 'east'), await health(set, 'west')]).toEqual([503, 200])
  const { seq } = await set.at('east').head()
  await set.at('east').minute()
  await set.at('east').minute()
  expect(await set.at('east').record()).toMatchObject({ mode: 'secondary' })
  expect(await set.at('east').head()).toMatchObject({ mode: 'closed', seq, dirty: 'all' })
  expect([await health(set, 'east'), await health(set, 'west')]).toEqual([472, 200])
  expect((await written(set, 'west', 'goes-on')).status).toBe(204)
  // then it follows the primary, and has everything from there
  const { body } = await set.at('west').ok('POST', `${R}/primary/secondary-token`, { id: 'east-again' })
  await promotions(set).giveToken('east')
  const given = { dr_operation_token: OPERATION_TOKEN, token: body.wrap_info.token }
  await set.at('east').ok('POST', `${R}/secondary/update-primary`, given)
  await set.settled()
  await set.converge()
  const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
  expect(east?.items).toEqual(west?.items)
  expect(east?.kept).toEqual(east?.right)
  expect((await set.at('east').ports.journal.raw([key('policy', 'second')]))[0]).toBeUndefined()
})
