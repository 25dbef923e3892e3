import { beforeAll, beforeEach, expect, test } from 'vitest'
import { pairCosts, standingCosts, sumOf } from '../../../bench/pair-costs.ts'
import { besideRequests } from '../../../support/set/beside.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { recordPair } from '../../../support/set/recorded-calls.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// An idle pair with schedules and streams as on AWS: tests its calls, and how fast writes arrive.

const SECOND = 1000
const R = '/sys/replication/dr'

let from: Warm
let set: ClusterSet

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
})

const write = async (name = 'a'): Promise<number> => {
  await set.at('east').ok('POST', `/sys/policies/acl/${name}`, { policy: 'path "a" {}' })
  return (await set.at('east').head()).last
}

/** Returns the milliseconds until the secondary has applied a position. */
async function arrival(seq: number): Promise<number> {
  const began = set.clock.now()
  while ((await set.at('west').head()).applied < seq) await set.clock.sleep(10)
  return set.clock.now() - began
}

/** Returns the times at which an item was written on the secondary. */
const writtenAt = (pk: string, sk: string): number[] =>
  set.recording.history.flatMap(entry =>
    entry.what === 'written' &&
    entry.cluster === 'west' &&
    entry.changes.some(one => one.pk === pk && one.sk === sk)
      ? [entry.at]
      : [],
  )

const asked = (method: string) => set.net.calls.filter(one => one.method === method).length

/** Waits until the secondary has just called the primary and rests. */
async function justAsked(): Promise<void> {
  const before = asked('Entries')
  while (asked('Entries') === before) await set.clock.sleep(10)
  await set.clock.sleep(100)
}

test('an idle pair makes twelve link calls a minute, sends no notice, and costs 20.40 USD a month with key, alarms and metrics', async () => {
  const rest = await recordPair(from, { minutes: 4 })
  expect(Object.keys(rest.link).sort()).toEqual(['Entries', 'Heartbeat'])
  expect((rest.link['Heartbeat'] ?? 0) + (rest.link['Entries'] ?? 0)).toBeLessThanOrEqual(13)
  // forty reads a minute of the secondary's own table, and the reads for twelve link calls
  expect(rest.functions['west on-pull']?.calls).toBeLessThanOrEqual(125)
  const calls = Object.values(rest.functions).reduce((sum, one) => sum + one.calls, 0)
  expect(calls).toBeLessThanOrEqual(290)
  expect(sumOf({ ...pairCosts(rest), ...standingCosts('idle') })).toBeLessThanOrEqual(20.4)
})

test('the first write after a minute of rest reaches the secondary within a second, after a longer rest within two, by the resting run', async () => {
  const end = besideRequests(set)
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  expect(await arrival(await write())).toBeLessThanOrEqual(2 * SECOND)
  expect(asked('Notify')).toBe(1)
  await set.clock.sleep(40 * SECOND)
  await justAsked()
  expect(await arrival(await write('b'))).toBeLessThanOrEqual(SECOND)
  expect(asked('Notify')).toBe(2)
  await end()
})

test('without a notice, a write during rest reaches the secondary within ten seconds', async () => {
  const end = besideRequests(set, { unheard: ['east'] })
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  const took = await arrival(await write())
  expect(took).toBeLessThanOrEqual(10.5 * SECOND)
  expect(took, 'the secondary rests, and nobody has told it').toBeGreaterThan(2 * SECOND)
  expect(asked('Notify')).toBe(0)
  await end()
})

test('a promotion wakes the puller, and waits for the puller before judging the lag', async () => {
  const end = besideRequests(set, { unheard: ['east'] })
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  const seq = await write()
  await set.clock.sleep(6 * SECOND)
  expect((await set.at('west').head()).applied).toBeLessThan(seq)
  const reply = await set
    .at('west')
    .request('POST', `${R}/secondary/promote`, { dr_operation_token: from.operator })
  expect([reply.status, reply.text]).toEqual([200, expect.anything()])
  const [noticed = 0] = writtenAt('link', 'notice')
  const [fetched = Number.NaN] = writtenAt('policy', 'a')
  expect(fetched - noticed).toBeLessThanOrEqual(2 * SECOND)
  await end()
  expect((await set.at('west').request('GET', '/sys/policies/acl/a')).status).toBe(200)
})

test('during constant writes each write reaches the secondary within a second, and a notice is sent every four seconds', async () => {
  const end = besideRequests(set)
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  await arrival(await write())
  const arrivals: Promise<number>[] = []
  for (let count = 0; count < 100; count++) {
    arrivals.push(arrival(await write(`p${count % 10}`)))
    await set.clock.sleep(200)
  }
  expect(Math.max(...(await Promise.all(arrivals)))).toBeLessThanOrEqual(SECOND)
  expect(asked('Notify')).toBeLessThanOrEqual(6)
  await end()
})
