import { expect, test } from 'vitest'
import { sized } from '../../../support/runner/size.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Several clusters that write at once, and how long it takes until one of them is left: by the set's clock, with runs that
// begin every minute and last a minute, as schedules start them.

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
const NAMES = ['east', 'west', 'north'] as const
const MINUTE = 60_000

const write = async (set: ClusterSet, name: string) =>
  (await set.at(name).request('POST', `/sys/policies/acl/of-${name}`, POLICY)).status

/** Starts what schedules start, each cluster's some seconds behind the one before. @returns how it is ended */
function scheduled(set: ClusterSet, names: readonly string[]): () => Promise<void> {
  let over = false
  for (const [index, name] of names.entries())
    set.start(async () => {
      await set.clock.sleep(index * 17_000)
      for (; !over; await set.clock.sleep(MINUTE)) set.start(() => set.at(name).pull(MINUTE))
    })
  return async () => {
    over = true
    await set.settled()
  }
}

const forced = async (set: ClusterSet, name: string): Promise<void> => {
  const { giveToken, promote } = promotions(set)
  await giveToken(name)
  const { status, body } = await promote(name, { force: true })
  expect(status, JSON.stringify(body)).toBe(200)
}

/** Milliseconds until one cluster alone takes writes. */
async function untilOneWrites(set: ClusterSet, names: readonly string[]): Promise<number> {
  const began = set.clock.now()
  for (;;) {
    const answers = await Promise.all(names.map(name => write(set, name)))
    if (answers.filter(status => status === 204).length === 1) return set.clock.now() - began
    if (set.clock.now() > began + 10 * MINUTE) throw new Error(`they never agree: ${answers}`)
    await set.clock.sleep(250)
  }
}

/** East, and all who follow it. */
async function pairOf(...names: string[]): Promise<ClusterSet> {
  const set = await clusterSet(['east', ...names])
  await set.enable('east')
  for (const name of names) await set.join(name, 'east')
  await set.converge()
  return set
}

// where a minute's run has just begun
test.each([18_000, 9 * MINUTE + 18_000])(
  'an old primary that was cut off for %i ms takes its last write five seconds after it is reached, at most',
  async cutFor => {
    const set = await pairOf('west')
    set.cut('east', 'west')
    await forced(set, 'west')
    const end = scheduled(set, ['east', 'west'])
    await set.clock.sleep(cutFor)
    expect([await write(set, 'east'), await write(set, 'west')]).toEqual([204, 204])
    set.heal('east', 'west')
    expect(await untilOneWrites(set, ['east', 'west'])).toBeLessThan(5000)
    expect(await write(set, 'west')).toBe(204)
    await end()
  },
)

/** Milliseconds by which the answers of all clusters are late. */
const DELAYS = [0, 2400, 5000, 9000]
/** Milliseconds by which the clock of one cluster is ahead. */
const CLOCKS = [0, 10 * MINUTE]
/** What is played, and the second of a minute at which the links are whole again. */
const scenes = DELAYS.flatMap(late =>
  CLOCKS.flatMap(skew =>
    Array.from({ length: sized(1, 20) }, (_, round) => ({
      late,
      skew,
      ahead: NAMES[(round + 1) % 3] as string,
      second: (35 + 7 * round) % 60,
    })),
  ),
)

test.each(scenes)(
  'three rivals come to one primary within thirty seconds: answers $late ms late, the clock of $ahead $skew ms ahead, from second $second on',
  async ({ late, skew, ahead, second }) => {
    const set = await pairOf('west', 'north')
    const links = [
      ['east', 'west'],
      ['east', 'north'],
      ['west', 'north'],
    ] as const
    for (const [a, b] of links) set.cut(a, b)
    set.at(ahead).setClock(skew)
    await forced(set, 'west')
    await forced(set, 'north')
    const end = scheduled(set, NAMES)
    await set.clock.sleep(3 * MINUTE + second * 1000)
    expect(await Promise.all(NAMES.map(name => write(set, name)))).toEqual([204, 204, 204])
    for (const name of NAMES) set.net.answersSo(name, { late })
    for (const [a, b] of links) set.heal(a, b)
    expect(await untilOneWrites(set, NAMES)).toBeLessThan(30_000)
    await end()
  },
)

test.each([
  ['a moment', 20_000],
  ['an hour', 60 * MINUTE],
])('a primary whose host was away for %s is told so before it serves', async (_, away) => {
  const set = await pairOf('west')
  set.cut('east', 'west')
  await forced(set, 'west')
  await set.settled()
  await set.clock.sleep(away)
  await set.at('west').pull()
  set.heal('east', 'west')
  const began = set.clock.now()
  await set.at('east').returns()
  expect(await write(set, 'east')).toBe(400)
  expect(set.clock.now() - began).toBeLessThan(2000)
  expect(await write(set, 'west')).toBe(204)
})

test('one whose secondary follows it, or is gone, serves on within two seconds', async () => {
  const set = await pairOf('west')
  for (const way of ['heal', 'cut'] as const) {
    set[way]('east', 'west')
    const began = set.clock.now()
    await set.at('east').returns()
    expect(set.clock.now() - began).toBeLessThanOrEqual(2000)
    expect(await write(set, 'east')).toBe(204)
  }
})
