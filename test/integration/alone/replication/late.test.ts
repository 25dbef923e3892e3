import { beforeAll, expect, test } from 'vitest'
import { sized } from '../../../support/runner/size.ts'
import type { Reply } from '../../../support/service/api.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { goneOnWith, type LateScene, lateAtEachCall } from '../../../support/set/scenes.ts'
import type { ClusterSet } from '../../../support/set/set.ts'

// Processes freeze for a minute or more before each of their calls, while roles change. The later writes of
// these processes must have no effect.

const R = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
/** The calls before which a process freezes. */
const CALLS = sized({ first: 3, every: 14 }, { first: 1, every: 1 })

let from: Warm

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

const health = async (set: ClusterSet) =>
  Promise.all(['east', 'west'].map(async name => (await set.at(name).request('GET', '/sys/health')).status))
const write = (set: ClusterSet, name: string, policy: string) =>
  set.at(name).ok('POST', `/sys/policies/acl/${policy}`, POLICY)
const operate = (set: ClusterSet, name: string, path: string, body: object = {}): Promise<Reply> =>
  set.at(name).request('POST', `${R}/secondary/${path}`, { dr_operation_token: from.operator, ...body })
const demote = (set: ClusterSet, name: string) => set.at(name).request('POST', `${R}/primary/demote`)

async function operated(...given: Parameters<typeof operate>): Promise<void> {
  const reply = await operate(...given)
  expect(reply.status, reply.text).toBe(200)
}

async function activation(set: ClusterSet, primary: string): Promise<string> {
  const { body } = await set.at(primary).ok('POST', `${R}/primary/secondary-token`, { id: 'again' })
  return body.wrap_info.token
}

/** Checks that west is the primary and east is not, and that both clusters are complete. */
async function westServes(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([472, 200])
  await write(set, 'west', 'after')
  for (const name of ['east', 'west']) {
    const { kept, right } = await set.everything(name)
    expect(kept).toEqual(right)
    expect(await set.at(name).record()).not.toHaveProperty('operation')
  }
}

/** Checks that east is the primary in the third epoch, and west follows it. */
async function eastServesAgain(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([200, 472])
  expect(await set.at('east').head()).toMatchObject({ mode: 'writing', maxEpoch: 3 })
  await write(set, 'east', 'after')
  await operated(set, 'west', 'update-primary', { token: await activation(set, 'east') })
  await set.converge()
  expect(await set.everything('west')).toEqual(await set.everything('east'))
}

/** Makes east follow the primary west, and take over again. */
async function backToEast(set: ClusterSet): Promise<void> {
  await operated(set, 'east', 'update-primary', { token: await activation(set, 'west') })
  await write(set, 'west', 'of west')
  for (let rounds = 0; !(await set.isEven('east')); rounds++) {
    if (rounds === 30) throw new Error('east never follows')
    await set.clock.sleep(2000)
    // the schedule of every minute closes a position that was never written
    await set.at('west').minute()
    await set.at('east').pull()
  }
  await operated(set, 'east', 'promote')
}

/** Lets other processes complete the demotion of east; then west takes over. */
async function demotedByOthers(set: ClusterSet): Promise<void> {
  await goneOnWith(set, 'east')
  await operated(set, 'west', 'promote')
}

/** Lets other processes complete the promotion, and makes east the primary again. */
const andBack = (meanwhile: (set: ClusterSet) => Promise<unknown>) => async (set: ClusterSet) => {
  await meanwhile(set)
  await backToEast(set)
}

const demotion = {
  who: { cluster: 'east', process: 'on-operation' },
  act: (set: ClusterSet) => demote(set, 'east'),
}
const promotion = {
  who: { cluster: 'west', process: 'on-operation' },
  act: (set: ClusterSet) => operate(set, 'west', 'promote'),
}
/**
 * Lets an administrator replace the promotion. If the promotion is too far advanced, other processes complete
 * it.
 */
async function givenUpByOperator(set: ClusterSet): Promise<void> {
  set.at('west').newMemory()
  const reply = await operate(set, 'west', 'update-primary', { token: '' })
  if (reply.status !== 200) await goneOnWith(set, 'west')
}
/** Checks that the frozen process has no late effect: west follows no cluster, and can still take over. */
async function westTakesOver(set: ClusterSet): Promise<void> {
  if ((await set.at('west').record()).mode !== 'primary') {
    expect(await set.at('west').head()).toMatchObject({ mode: 'applying' })
    set.recording.allowTwo('east')
    await operated(set, 'west', 'promote', { force: true })
    await fenced(set)
  }
  await westServes(set)
}
const promotedByOthers = (set: ClusterSet) => goneOnWith(set, 'west')
const handover = { ...promotion, who: { cluster: 'east', process: 'link/Handover' } }

/** East was demoted, and another execution promotes east again by force. */
const reopening: LateScene = {
  who: { cluster: 'east', process: 'on-operation' },
  before: set => demote(set, 'east'),
  act: set => operate(set, 'east', 'promote', { force: true }),
  meanwhile: set => goneOnWith(set, 'east'),
  holds: async set => {
    expect(await health(set)).toEqual([200, 472])
    expect(await set.at('east').head()).toMatchObject({ mode: 'writing', maxEpoch: 2 })
    await write(set, 'east', 'after')
  },
}

/** Freezes a request to east. An acknowledged write must not be lost, and a late write must not appear. */
const writer = (
  request: (set: ClusterSet) => Promise<Reply>,
  meanwhile: (set: ClusterSet) => Promise<unknown>,
  holds: (set: ClusterSet, acknowledged: boolean) => Promise<unknown>,
): LateScene => {
  let status = 0
  return {
    who: { cluster: 'east', process: 'api' },
    act: async set => {
      status = 0
      ;({ status } = await request(set))
    },
    meanwhile,
    holds: async set => {
      await holds(set, status < 300)
      // the answer must be definite: written or not written
      expect(status).toBeGreaterThan(0)
    },
  }
}
const late = (set: ClusterSet) => set.at('east').request('POST', '/sys/policies/acl/late', POLICY)
const login = (set: ClusterSet) => set.at('east').request('POST', '/auth/token/create', { ttl: '1h' })

async function switched(set: ClusterSet): Promise<void> {
  await demote(set, 'east')
  await operated(set, 'west', 'promote')
}

/** Disconnects east while west takes over by force; then reconnects the clusters, and west fences east. */
async function forced(set: ClusterSet): Promise<void> {
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  await operated(set, 'west', 'promote', { force: true })
  set.heal('east', 'west')
}
async function fenced(set: ClusterSet): Promise<void> {
  set.pass(60_000)
  await set.at('west').pull()
}

async function westHas(set: ClusterSet, acknowledged: boolean): Promise<void> {
  if (acknowledged) expect((await set.at('west').request('GET', '/sys/policies/acl/late')).status).toBe(200)
  await westServes(set)
}

/** East opens a new epoch. */
async function claimed(set: ClusterSet): Promise<void> {
  await demote(set, 'east')
  await operated(set, 'east', 'promote', { force: true })
}

const frozenWriters: [what: string, LateScene][] = [
  ['a write, until its cluster has been demoted and another one promoted', writer(late, switched, westHas)],
  [
    'a login, until its cluster has handed over',
    writer(login, set => operated(set, 'west', 'promote'), westServes),
  ],
  [
    'a write, until another cluster was promoted by force and has fenced its own',
    writer(
      late,
      async set => {
        await forced(set)
        await fenced(set)
      },
      westServes,
    ),
  ],
  [
    'a write, until its cluster has claimed another epoch',
    writer(late, claimed, async (set, acknowledged) => {
      expect(await health(set)).toEqual([200, 472])
      if (acknowledged)
        expect((await set.at('east').request('GET', '/sys/policies/acl/late')).status).toBe(200)
    }),
  ],
]

/** The request that ends east's epoch freezes, and is sent again. */
const fencing: LateScene = {
  who: { cluster: 'east', process: 'link/Fence' },
  before: async set => {
    await forced(set)
    set.pass(60_000)
  },
  // calls of the frozen process may take longer than its time to write
  act: set =>
    set
      .at('west')
      .pull()
      .catch(() => undefined),
  meanwhile: async set => {
    await fenced(set)
    // the write of the frozen process is too late, or the answer names it
    await late(set)
  },
  holds: async set => {
    await fenced(set)
    const { fences } = (await set.at('west').ok('GET', `${R}/status`)).body.data
    expect(fences).toMatchObject([{ cluster_address: 'https://east.test', result: 'acknowledged' }])
    await westServes(set)
  },
}

async function pulledUntilEven(set: ClusterSet): Promise<void> {
  for (let rounds = 0; !(await set.isEven('east')); rounds++) {
    if (rounds === 30) throw new Error('east never follows')
    // the lease of the frozen process expires
    set.pass(30_000)
    await set.at('west').minute()
    await set.at('east').pull()
  }
}

/** East undoes its own commits and fetches the other items; another process completes the sync. */
const syncing: LateScene = {
  who: { cluster: 'east', process: 'on-pull' },
  before: async set => {
    set.recording.allowTwo('east')
    set.cut('east', 'west')
    await write(set, 'east', 'lost')
    await write(set, 'west', 'x').catch(() => undefined)
    await operated(set, 'west', 'promote', { force: true })
    set.heal('east', 'west')
    await fenced(set)
    await write(set, 'west', 'lost')
    await operated(set, 'east', 'update-primary', { token: await activation(set, 'west') })
  },
  act: set => set.at('east').pull(),
  meanwhile: async set => {
    await pulledUntilEven(set)
    await set.at('west').ok('DELETE', '/sys/policies/acl/lost')
    await pulledUntilEven(set)
  },
  holds: async set => {
    await pulledUntilEven(set)
    expect(await set.everything('east')).toEqual(await set.everything('west'))
    await westServes(set)
  },
}

test.each<[what: string, LateScene]>([
  ...frozenWriters,
  ['a fenced primary', fencing],
  ['the end of a sync', syncing],
  ['a demotion', { ...demotion, meanwhile: demotedByOthers, holds: westServes }],
  [
    'a demotion, until its cluster is promoted again',
    { ...demotion, meanwhile: andBack(demotedByOthers), holds: eastServesAgain },
  ],
  ['a promotion', { ...promotion, meanwhile: promotedByOthers, holds: westServes }],
  ['a promotion that fails', { ...promotion, meanwhile: givenUpByOperator, holds: westTakesOver }],
  [
    'a promotion, until its cluster is demoted again',
    { ...promotion, meanwhile: andBack(promotedByOthers), holds: eastServesAgain },
  ],
  ['a promotion after a demotion', reopening],
  ['a handover', { ...handover, meanwhile: promotedByOthers, holds: westServes }],
  [
    'a handover, until its cluster is promoted again',
    { ...handover, meanwhile: andBack(promotedByOthers), holds: eastServesAgain },
  ],
])('a process that freezes before any call has no late effect: %s', async (what, scene) => {
  const stood = await lateAtEachCall(from, scene, CALLS)
  expect(stood).toBeGreaterThan(0)
  if (sized(false, true)) process.stdout.write(`${what}: ${stood} calls\n`)
})
