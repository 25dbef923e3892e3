import { expect, test } from 'vitest'
import { sized } from '../../../support/runner/size.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Several clusters write at once. Measures by the set's clock the time until only one cluster writes, with
// runs that start every minute and last a minute.

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
const NAMES = ['east', 'west', 'north'] as const
const MINUTE = 60_000

const write = async (set: ClusterSet, name: string) =>
  (await set.at(name).request('POST', `/sys/policies/acl/of-${name}`, POLICY)).status

/** Starts the scheduled runs, each cluster's some seconds after the previous one's. @returns a function that ends them */
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

/** Returns the milliseconds until only one cluster accepts writes. */
async function untilOneWrites(set: ClusterSet, names: readonly string[]): Promise<number> {
  const began = set.clock.now()
  for (;;) {
    const answers = await Promise.all(names.map(name => write(set, name)))
    if (answers.filter(status => status === 204).length === 1) return set.clock.now() - began
    if (set.clock.now() > began + 10 * MINUTE) throw new Error(`they never agree: ${answers}`)
    await set.clock.sleep(250)
  }
}

/** Makes a set of east and its secondaries. */
async function pairOf(...names: string[]): Promise<ClusterSet> {
  const set = await clusterSet(['east', ...names])
  await set.enable('east')
  for (const name of names) await set.join(name, 'east')
  await set.converge()
  return set
}

// the moment right after the run of a minute has begun
test.each([18_000, 9 * MINUTE + 18_000])(
  'an old primary that was disconnected for %i ms accepts its last write at most five seconds after the link is restored',
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

/** delays of the answers of all clusters, in milliseconds */
const DELAYS = [0, 2400, 5000, 9000]
/** milliseconds by which the clock of one cluster is ahead */
const CLOCKS = [0, 10 * MINUTE]
/** The scenes, with the second of a minute at which all links work again. */
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
  'of three rival primaries one remains after thirty seconds: answers $late ms late, the clock of $ahead $skew ms ahead, from second $second on',
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
])(
  'a former primary whose host was away for %s learns of its successor before it serves clients',
  async (_, away) => {
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
  },
)

test('a primary whose secondary still follows, or is dead, serves again within two seconds', async () => {
  const set = await pairOf('west')
  for (const way of ['heal', 'cut'] as const) {
    set[way]('east', 'west')
    const began = set.clock.now()
    await set.at('east').returns()
    expect(set.clock.now() - began).toBeLessThanOrEqual(2000)
    expect(await write(set, 'east')).toBe(204)
  }
})
