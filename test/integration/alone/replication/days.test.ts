import type { Context } from 'aws-lambda'
import { beforeEach, describe, expect, test } from 'vitest'
import { ttlOfGeneration } from '../../../../shared/journal/generation.ts'
import { createHourlyHandler } from '../../../../shared/workers/handlers.ts'
import { standing, wrongSums } from '../../../support/service/journal.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests what a secondary does by itself while days pass on the test's clock, and what DynamoDB deletes in
// these days.

const HOUR = 3_600_000
const GENERATION = 345_600_000
/** a generation of tokens ends two days later */
const START = Math.ceil(Date.now() / GENERATION) * GENERATION + GENERATION / 2

let set: ClusterSet
const at = (name: string) => set.at(name)

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { memory: true, start: START })
  await set.enable('east')
  await set.join('west', 'east')
})

/** Returns the token of a login with this lifetime. */
async function tokenFor(ttl: string): Promise<string> {
  return (await at('east').ok('POST', '/auth/token/create', { ttl, no_parent: true })).body.auth.client_token
}

const renew = (token: string, increment: string) =>
  at('east').ok('POST', '/auth/token/renew', { token, increment })

const rootOf = async (name: string): Promise<[position: unknown, root: unknown]> => {
  const { data } = (await at(name).ok('GET', '/sys/replication/dr/status')).body
  return [data.last_dr_wal ?? data.last_remote_wal, data.merkle_root]
}

/**
 * Checks that readers see the same items on both clusters, that both clusters have one root at one position,
 * and that sums equal the items.
 */
async function isEven(): Promise<void> {
  await set.converge()
  await set.tick({ hashes: true })
  expect(await rootOf('west')).toEqual(await rootOf('east'))
  const [east, west] = await Promise.all(['east', 'west'].map(living))
  expect(west).toEqual(east)
  for (const name of ['east', 'west']) {
    const { treeId = '' } = await at(name).record()
    expect(await wrongSums(at(name).ports.journal, treeId, Math.floor(set.clock.now() / 1000))).toEqual([])
  }
  const faults = at('west').told.filter(({ level }) => level === 'error')
  expect(faults, 'nothing differs from what the journal of the primary says').toEqual([])
}

const all = (name: string) => standing(at(name).ports.journal)
const isDead = ({ kind, expires }: { kind: string; expires?: number }): boolean =>
  kind === 'token' && expires !== undefined && expires * 1000 <= set.clock.now()

/** Returns the unexpired items, as readers see them. */
const living = async (name: string): Promise<string[]> =>
  (await all(name))
    .filter(item => !isDead(item))
    .map(({ pk, sk, rev, pos }) => `${pk} ${sk} ${rev} ${pos}`)
    .sort()

/** Deletes expired items, as DynamoDB does at an arbitrary time. @returns the number of deleted items */
async function swept(name: string): Promise<number> {
  const { journal } = at(name).ports
  const due = (await all(name)).filter(({ ttl }) => ttl !== undefined && ttl * 1000 <= set.clock.now())
  for (const item of due) {
    expect(isDead(item), `${item.pk} lives`).toBe(true)
    await journal.transact([{ kind: 'item', item, put: null, if: { rev: item.rev } }])
  }
  return due.length
}

describe('a secondary', () => {
  test('writes nothing through a day except the journal entries that it receives', async () => {
    await tokenFor('1h')
    await tokenFor('96h')
    await set.converge()
    // the comparison after the first sync begins once both clusters have hashes
    for (let round = 0; round < 2; round++) await set.tick({ hashes: true })
    const before = await all('west')
    const tablesOf = async () => (await set.snapshot()).members.find(({ name }) => name === 'west')?.items
    const kept = new Map((await tablesOf())?.cluster.map(item => [`${item['pk']?.S} ${item['sk']?.S}`, item]))
    const context = { getRemainingTimeInMillis: () => 60_000 } as Context
    for (let hour = 0; hour < 24; hour++) {
      set.pass(HOUR)
      await set.tick({ hashes: hour % 8 === 0 })
      await createHourlyHandler(at('west').as('on-tidy-schedule'))({}, context)
      await set.settled()
    }
    expect(await all('west')).toEqual(before)
    const changed = ((await tablesOf())?.cluster ?? []).filter(
      item => JSON.stringify(item) !== JSON.stringify(kept.get(`${item['pk']?.S} ${item['sk']?.S}`)),
    )
    const places = new Set(changed.map(({ pk }) => (pk?.S ?? '').replace(/#.*/, '')))
    // the idle set stores journal entries of the canary, the head, hashes of the tree, the contact, and the
    // lease of the puller
    expect(
      [...places].filter(place => !['j', 'journal', 't', 'contact', 'puller', 'link'].includes(place)),
    ).toEqual([])
    await isEven()
  })
})

describe('three days without the link, while a generation of tokens ends', () => {
  /** Orders in which DynamoDB deletes expired items: the hours after the disconnection, and the cluster. */
  const orders: Record<string, readonly (readonly [hour: number, name: string])[]> = {
    'on neither side': [],
    'on the primary': [
      [50, 'east'],
      [70, 'east'],
    ],
    'on the secondary': [
      [50, 'west'],
      [70, 'west'],
    ],
    'on both sides at once': [
      [50, 'east'],
      [50, 'west'],
    ],
    'on the secondary, and on the primary when the link is back': [
      [60, 'west'],
      [74, 'east'],
    ],
  }

  test.each(Object.entries(orders))(
    'deletions by DynamoDB %s change neither sums nor roots; renewed tokens arrive, and no valid item is lost',
    async (_, order) => {
      const renewed = await tokenFor('44h')
      const again = await tokenFor('44h')
      await tokenFor('40h')
      await tokenFor('30m')
      const long = await tokenFor('700h')
      await isEven()
      set.cut('east', 'west')
      let gone = 0
      for (let hour = 1; hour <= 72; hour++) {
        set.pass(HOUR)
        if (hour === 40) await renew(renewed, '96h')
        if (hour === 43) await renew(again, '2h')
        if (hour === 66) await renew(long, '700h')
        if (hour % 12 === 0) await tokenFor('20h')
        for (const [when, name] of order) if (when === hour) gone += await swept(name)
      }
      expect(set.clock.now()).toBeGreaterThan(ttlOfGeneration(START / GENERATION + 0.5) * 1000)
      expect(gone > 0).toBe(order.some(([when]) => when <= 72))
      set.heal('east', 'west')
      await isEven()
      for (const [when, name] of order) if (when > 72) await swept(name)
      set.pass(HOUR)
      await isEven()
      const there = (await all('west')).filter(item => item.kind === 'token' && !isDead(item))
      const east = (await all('east')).filter(item => item.kind === 'token' && !isDead(item))
      // the remaining items are the root token, tokens that were renewed for long, and newer items
      expect(there.length).toBe(east.length)
      expect((await at('east').request('POST', '/auth/token/lookup', { token: renewed })).status).toBe(200)
      expect((await at('east').request('POST', '/auth/token/lookup', { token: again })).status).not.toBe(200)
    },
  )
})
