import { beforeAll, expect, test } from 'vitest'
import { sized } from '../../../support/runner/size.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { deathsAtEachCall, type Scene } from '../../../support/set/scenes.ts'
import type { ClusterSet } from '../../../support/set/set.ts'

// Processes die at each of their calls during a role change. The role change happens once, or not at all.

const R = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
/** Number of calls between two deaths; testing all calls would take minutes. */
const EVERY = sized(32, 1)

let from: Warm

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

const health = async (set: ClusterSet) =>
  Promise.all(['east', 'west'].map(async name => (await set.at(name).request('GET', '/sys/health')).status))
const write = (set: ClusterSet, name: string, policy: string) =>
  set.at(name).ok('POST', `/sys/policies/acl/${policy}`, POLICY)
const operate = (set: ClusterSet, name: string, path: string, body: object = {}) =>
  set.at(name).request('POST', `${R}/secondary/${path}`, { dr_operation_token: from.operator, ...body })
const policies = async (set: ClusterSet, name: string): Promise<string[]> =>
  (await set.at(name).ok('LIST', '/sys/policies/acl')).body.data.keys

const activation = async (set: ClusterSet): Promise<string> => {
  const { body } = await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'again' })
  return body.wrap_info.token
}

async function isSound(set: ClusterSet, ...names: string[]): Promise<void> {
  for (const name of names) {
    const { kept, right } = await set.everything(name)
    expect(kept).toEqual(right)
    expect(await set.at(name).record()).not.toHaveProperty('operation')
  }
}

/** Checks that west is the primary with all acknowledged commits, and that east has ended its epoch. */
async function tookOver(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([472, 200])
  const { id } = await set.at('west').record()
  expect(await set.at('east').head()).toMatchObject({ mode: 'closed', successor: id })
  expect((await set.at('west').record()).promotions).toBe(1)
  await write(set, 'west', 'after')
  await isSound(set, 'east', 'west')
}

/** Checks that west has fenced east, and that west has recorded the fence. */
async function fenced(set: ClusterSet): Promise<void> {
  await tookOver(set)
  const { fences } = (await set.at('west').ok('GET', `${R}/status`)).body.data
  expect(fences).toMatchObject([{ cluster_address: 'https://east.test', result: 'acknowledged' }])
}

/** Promotes west by force while east is disconnected and keeps serving; then reconnects both clusters. */
async function forcedApart(set: ClusterSet): Promise<void> {
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  await write(set, 'east', 'lost')
  expect((await operate(set, 'west', 'promote', { force: true })).status).toBe(200)
  set.heal('east', 'west')
  set.pass(60_000)
  await set.tick()
}

/** Writes on the primary, and switches the roles right after the write. */
async function switched(set: ClusterSet): Promise<void> {
  await write(set, 'east', 'last')
  expect((await operate(set, 'west', 'promote')).status).toBe(200)
}

async function withLast(set: ClusterSet): Promise<void> {
  await tookOver(set)
  expect(await policies(set, 'west')).toContain('last')
}

/** Checks that east has ended its epoch, and west has all entries of it. */
async function demoted(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([472, 472])
  expect(await set.at('east').head()).toMatchObject({ mode: 'closed', successor: '' })
  await isSound(set, 'east', 'west')
  expect((await operate(set, 'west', 'promote')).status).toBe(200)
  await tookOver(set)
}

/** Checks that a request without an answer has taken effect completely or not at all. */
async function settledEither(set: ClusterSet): Promise<void> {
  const [east] = await health(set)
  await (east === 200 ? follows(set) : demoted(set))
}

/** Checks that west follows east, and has all of its items. */
async function follows(set: ClusterSet): Promise<void> {
  await write(set, 'east', 'after')
  await set.converge()
  expect(await health(set)).toEqual([200, 472])
  expect((await set.everything('west')).items).toEqual((await set.everything('east')).items)
  await isSound(set, 'east', 'west')
}

/** Checks that west has no primary, and follows a primary after a new request. */
async function followsNobody(set: ClusterSet): Promise<void> {
  expect((await set.at('west').record()).link).toMatchObject({ secondaryId: '', primaryAddrs: [] })
  expect(await set.at('west').head()).toMatchObject({ mode: 'applying' })
  expect((await operate(set, 'west', 'update-primary', { token: await activation(set) })).status).toBe(200)
  await follows(set)
}

/** Checks that west has left the set with all its items, and serves. */
async function hasLeft(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([200, 200])
  const record = await set.at('west').record()
  expect(record).toMatchObject({ mode: 'disabled', term: 2 })
  for (const gone of ['set', 'link', 'treeId', 'epoch', 'operation']) expect(record).not.toHaveProperty(gone)
  const { items } = await set.at('west').ports.journal.scan({ index: 0, of: 1 })
  expect(items.filter(({ pos, leaf, bucket }) => pos ?? leaf ?? bucket)).toEqual([])
  expect(await policies(set, 'west')).toEqual(await policies(set, 'east'))
  await write(set, 'west', 'own')
}

const updated = (given: (set: ClusterSet) => object | Promise<object>) => async (set: ClusterSet) =>
  void (await operate(set, 'west', 'update-primary', await given(set)))

/**
 * Promotes west by force while east is disconnected and keeps serving. Reconnects both clusters whatever the
 * result.
 */
async function forcedSomehow(set: ClusterSet): Promise<void> {
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  await write(set, 'east', 'lost')
  try {
    await operate(set, 'west', 'promote', { force: true })
  } finally {
    set.heal('east', 'west')
  }
}

/**
 * Checks that the promoted cluster is primary and the other cluster has ended its epoch, or that nothing has
 * changed.
 */
async function fencedOrNot(set: ClusterSet): Promise<void> {
  const [east] = await health(set)
  await (east === 200 ? follows(set) : fenced(set))
}

/** The successor dies after the handover, and returns after the old primary was promoted again. */
const heirIsGone = (set: ClusterSet): void => {
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  set.kill('west')
}
async function passedOver(set: ClusterSet): Promise<void> {
  await write(set, 'east', 'last')
  await operate(set, 'west', 'promote').catch(() => undefined)
  if (set.net.isCut('east', 'west')) {
    await set.clock.sleep(10_000)
    if ((await set.at('east').head()).mode === 'closed')
      expect((await operate(set, 'east', 'promote', { force: true })).status).toBe(200)
    set.heal('east', 'west')
  }
}

/**
 * Checks that one cluster serves with all items, and that the other cluster accepts its token and follows.
 */
async function oneServes(set: ClusterSet): Promise<void> {
  const [east, west] = await health(set)
  expect([east, west].sort()).toEqual([200, 472])
  const [primary, other] = east === 200 ? (['east', 'west'] as const) : (['west', 'east'] as const)
  await rejoins(set, other, primary)
  expect(await policies(set, primary)).toContain('last')
}

async function rejoins(set: ClusterSet, other: string, primary: string): Promise<void> {
  const { body } = await set.at(primary).ok('POST', `${R}/primary/secondary-token`, { id: 'again' })
  const reply = await operate(set, other, 'update-primary', { token: body.wrap_info.token })
  expect(reply.status, reply.text).toBe(200)
  await comesToTheSame(set, primary)
}

async function comesToTheSame(set: ClusterSet, primary: string): Promise<void> {
  await write(set, primary, 'after')
  await set.converge()
  expect((await set.everything('west')).items).toEqual((await set.everything('east')).items)
  await isSound(set, 'east', 'west')
}

/** Lets east follow west. Checks that east undoes the commits that only east had. */
const rejoining: Pick<Scene, 'before' | 'act' | 'holds'> = {
  before: async set => {
    await forcedApart(set)
    await set.tick()
  },
  act: async set => {
    const { body } = await set.at('west').ok('POST', `${R}/primary/secondary-token`, { id: 'east' })
    await operate(set, 'east', 'update-primary', { token: body.wrap_info.token })
    await set.at('east').pull()
  },
  holds: async set => {
    // a request that died may have done nothing
    const { link } = await set.at('east').record()
    await (link?.primaryKey ? comesToTheSame(set, 'west') : rejoins(set, 'east', 'west'))
    const { lost } = (await set.at('east').ok('GET', `${R}/divergence`)).body.data
    const names = lost.flatMap(({ changes }: { changes: { key: string[] }[] }) =>
      changes.map(({ key }) => key[1]),
    )
    expect(names).toEqual(['lost'])
    expect(await policies(set, 'west')).not.toContain('lost')
  },
}

/** Reindexes west. Checks that west's tree was rebuilt and compared, and that west follows as before. */
const reindexed: Pick<Scene, 'act' | 'holds'> & { every: number } = {
  // a reindex reads thousands of pages
  every: sized(5000, 101),
  act: set => operate(set, 'west', 'reindex', { diff: true }),
  holds: async set => {
    const { data } = (await set.at('west').ok('GET', `${R}/status`)).body
    expect(data).not.toHaveProperty('reindex_in_progress')
    await follows(set)
  },
}

const onEast = (path: string) => (set: ClusterSet) => set.at('east').request('POST', `${R}/${path}`)

test.each<[what: string, cluster: string, process: string, Omit<Scene, 'who'> & { every?: number }]>([
  ['the request that demotes', 'east', 'api', { act: onEast('primary/demote'), holds: settledEither }],
  ['a demotion', 'east', 'on-operation', { act: onEast('primary/demote'), holds: demoted }],
  ['a promotion', 'west', 'on-operation', { act: switched, holds: withLast }],
  ['the primary that hands over', 'east', 'link/Handover', { act: switched, holds: withLast }],
  ['the primary that is fenced', 'east', 'link/Fence', { act: forcedApart, holds: fenced }],
  ['the worker that fences', 'west', 'on-journal', { act: forcedApart, holds: fenced }],
  [
    'an update-primary with a token',
    ...(['west', 'on-operation'] as const),
    { act: updated(async set => ({ token: await activation(set) })), holds: follows },
  ],
  [
    'an update-primary with an empty token',
    ...(['west', 'on-operation'] as const),
    { act: updated(() => ({ token: '' })), holds: followsNobody },
  ],
  [
    'an update-primary with addresses',
    ...(['west', 'on-operation'] as const),
    { act: updated(set => ({ update_primary_addrs: [set.at('east').address] })), holds: follows },
  ],
  [
    'a secondary that leaves its set',
    ...(['west', 'on-operation'] as const),
    { act: set => operate(set, 'west', 'disable'), holds: hasLeft },
  ],
  ['the winner of a forced promotion', 'west', 'on-operation', { act: forcedSomehow, holds: fencedOrNot }],
  ['the request that takes over by force', 'west', 'api', { act: forcedSomehow, holds: fencedOrNot }],
  [
    'the successor, all of it',
    'west',
    'on-operation',
    { act: passedOver, struck: heirIsGone, holds: oneServes },
  ],
  ['a former primary that rejoins', 'east', 'on-operation', rejoining],
  ['a former primary that rewinds its own commits', 'east', 'on-pull', rejoining],
  ['the new primary that admits the former one', 'west', 'link', rejoining],
  ['a reindex', 'west', 'on-operation', reindexed],
])(
  'after the death of a process at any call the clusters reach the same outcome: %s',
  async (_, cluster, process, given) => {
    const { every = EVERY, ...scene } = given
    const deaths = await deathsAtEachCall(from, { who: { cluster, process }, ...scene }, every)
    expect(deaths).toBeGreaterThan(0)
  },
)
