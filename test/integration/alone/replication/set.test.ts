import { beforeAll, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { Crash } from '../../../support/tables/crash.ts'

// Tests the simulated set of deployed clusters in one process, which other tests use.

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
let set: ClusterSet
/** epoch seconds around west's first sync */
let synced: [from: number, to: number]

beforeAll(async () => {
  set = await clusterSet(['east', 'west', 'north'], { aws: true })
  await set.enable('east')
  const joined = Math.floor(set.clock.now() / 1000)
  await set.join('west', 'east')
  synced = [joined, Math.floor(set.clock.now() / 1000)]
  await set.join('north', 'east')
})

const write = (name: string) => set.at('east').request('POST', `/sys/policies/acl/${name}`, POLICY)
const seqOf = async (name: string) => (await set.at(name).head()).last

async function allEqual(): Promise<void> {
  const [east, west, north] = await Promise.all(['east', 'west', 'north'].map(set.everything))
  expect(west?.items).toEqual(east?.items)
  expect(north?.items).toEqual(east?.items)
  for (const one of [east, west, north]) expect(one?.kept).toEqual(one?.right)
}

describe('clusters of a set', () => {
  test('have the same items when no client writes', async () => {
    for (const name of ['a', 'b', 'c']) expect((await write(name)).status).toBe(204)
    await set.converge()
    await allEqual()
    expect(
      (await set.at('west').request('GET', '/sys/policies/acl/a')).status,
      'a secondary serves nobody',
    ).toBe(400)
  })

  test('show the time of the first sync as the time of the last reindex', async () => {
    const status = async (name: string) =>
      (await set.at(name).ok('GET', '/sys/replication/dr/status')).body.data.last_reindex_epoch
    expect(Number(await status('west'))).toBeGreaterThanOrEqual(synced[0])
    expect(Number(await status('west'))).toBeLessThanOrEqual(synced[1])
    expect(await status('east'), 'a primary has none').toBe('0')
  })

  test('exchange no calls while disconnected, in both directions, and catch up afterwards', async () => {
    set.cut('east', 'west')
    set.cut('north', 'east', 'there')
    const [west, north] = [await seqOf('west'), await seqOf('north')]
    await write('d')
    await set.tick()
    expect([await seqOf('west'), await seqOf('north')]).toEqual([west, north])
    set.heal('east', 'west')
    set.heal('east', 'north')
    await set.converge()
    await allEqual()
  })
})

describe('a process of the simulated clusters', () => {
  test('dies at the given call, which may have succeeded', async () => {
    const free = set.trap({ cluster: 'east', step: 'TransactWriteItems', at: 1, when: 'after', does: 'dies' })
    await expect(write('e')).rejects.toThrow(Crash)
    free()
    const [item] = await set.at('east').ports.store.read([key('policy', 'e')])
    expect(item?.data).toBeDefined()
  })

  test('without an answer reads whether its commit succeeded', async () => {
    for (const when of ['before', 'after'] as const) {
      const free = set.trap({ cluster: 'east', step: 'TransactWriteItems', at: 1, when, does: 'loses' })
      expect((await write(`f ${when}`)).status).toBe(204)
      free()
    }
  })

  test('freezes before the given call, while other processes continue; writes of the frozen process are late', async () => {
    const { reached, thaw } = set.freezeAt({
      cluster: 'east',
      step: 'TransactWriteItems',
      at: 1,
      when: 'before',
    })
    const late = write('g')
    await reached
    expect((await write('h')).status).toBe(204)
    set.pass(19_000)
    thaw()
    expect((await late).status).toBe(204)
    const { last } = await set.at('east').head()
    const entries = await set
      .at('east')
      .ports.journal.entries((await set.at('east').head()).lineage, last - 2, last)
    expect(entries.map(entry => entry?.body[0]?.sk)).toEqual(['g', 'h'])
  })

  test('of a workflow dies, and its step is repeated', async () => {
    const west = await clusterSet(['west', 'south'])
    await west.enable('west')
    let deaths = 0
    const struck = () => {
      deaths += 1
    }
    for (const at of [1, 6, 15, 40])
      west.trap({ process: 'on-operation', at, when: at % 2 ? 'before' : 'after', does: 'dies', struck })
    await west.join('south', 'west')
    await west.converge()
    expect(deaths).toBe(4)
    expect((await west.everything('south')).items).toEqual((await west.everything('west')).items)
  })
})
