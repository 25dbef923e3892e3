import { beforeAll, beforeEach, expect, test } from 'vitest'
import { monthlyCosts, sumOf } from '../../../bench/at-rest.ts'
import { pairAtRest } from '../../../support/set/at-rest.ts'
import { besideRequests } from '../../../support/set/beside.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// A pair at rest, with schedules and streams as AWS has them: what it asks, and how soon it notices what is written.

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

/** Milliseconds until the secondary has applied a position. */
async function arrival(seq: number): Promise<number> {
  const began = set.clock.now()
  while ((await set.at('west').head()).applied < seq) await set.clock.sleep(10)
  return set.clock.now() - began
}

/** When an item was written on the secondary. */
const writtenAt = (pk: string, sk: string): number[] =>
  set.recording.history.flatMap(entry =>
    entry.what === 'written' &&
    entry.cluster === 'west' &&
    entry.changes.some(one => one.pk === pk && one.sk === sk)
      ? [entry.at]
      : [],
  )

const asked = (method: string) => set.net.calls.filter(one => one.method === method).length

/** Goes on until the secondary has just asked, and rests. */
async function justAsked(): Promise<void> {
  const before = asked('Cells')
  while (asked('Cells') === before) await set.clock.sleep(10)
  await set.clock.sleep(100)
}

test('at rest, twelve calls of the link in a minute, none of them a notice, 460 to the tables of both, and 15 USD a month', async () => {
  const { link, functions } = await pairAtRest(from)
  expect(Object.keys(link).sort()).toEqual(['Cells', 'Echo'])
  expect((link['Echo'] ?? 0) + (link['Cells'] ?? 0)).toBeLessThanOrEqual(13)
  // four looks a second at the own table, and what twelve calls of the link need
  expect(functions['west on-pull']?.calls).toBeLessThanOrEqual(330)
  expect(Object.values(functions).reduce((sum, { calls }) => sum + calls, 0)).toBeLessThanOrEqual(460)
  expect(sumOf(monthlyCosts({ link, functions }))).toBeLessThanOrEqual(15)
})

test('at rest, the first write arrives within a second, and the run that rests takes it', async () => {
  const end = besideRequests(set)
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  expect(await arrival(await write())).toBeLessThanOrEqual(SECOND)
  expect(asked('Notify')).toBe(1)
  await end()
})

test('without a notice, a write at rest arrives within ten seconds', async () => {
  const end = besideRequests(set, ['east'])
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  const took = await arrival(await write())
  expect(took).toBeLessThanOrEqual(10.5 * SECOND)
  expect(took, 'the secondary rests, and nobody has told it').toBeGreaterThan(2 * SECOND)
  expect(asked('Notify')).toBe(0)
  await end()
})

test('a promotion wakes who rests, and waits for it, before it judges how far behind the cluster is', async () => {
  const end = besideRequests(set, ['east'])
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
  expect(fetched - noticed).toBeLessThanOrEqual(SECOND)
  await end()
  expect((await set.at('west').request('GET', '/sys/policies/acl/a')).status).toBe(200)
})

test('while writes come all the time, they arrive within a second, and a notice is sent in four seconds', async () => {
  const end = besideRequests(set)
  await set.clock.sleep(90 * SECOND)
  await justAsked()
  const arrivals: Promise<number>[] = []
  for (let count = 0; count < 100; count++) {
    arrivals.push(arrival(await write(`p${count % 10}`)))
    await set.clock.sleep(200)
  }
  expect(Math.max(...(await Promise.all(arrivals)))).toBeLessThanOrEqual(SECOND)
  expect(asked('Notify')).toBeLessThanOrEqual(6)
  await end()
})
