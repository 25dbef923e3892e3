import { beforeAll, expect, test } from 'vitest'
import type { Reply } from '../../support/api.ts'
import { type Warm, warmSnapshot } from '../../support/set/play.ts'
import { goneOnWith, type LateScene, lateAtEachCall } from '../../support/set/scenes.ts'
import type { ClusterSet } from '../../support/set.ts'
import { sized } from '../../support/size.ts'

// Processes that stand still for a minute or more, before each of their calls, while roles change around them: what they
// do when they wake comes too late to do anything.

const R = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
/** Calls before which they stand still: all of them take minutes. */
const CALLS = sized({ first: 5, every: 14 }, { first: 1, every: 1 })

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

/** West is the primary, east is not, and both are whole. */
async function westServes(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([472, 200])
  await write(set, 'west', 'after')
  for (const name of ['east', 'west']) {
    const { kept, right } = await set.everything(name)
    expect(kept).toEqual(right)
    expect(await set.at(name).record()).not.toHaveProperty('operation')
  }
}

/** East is the primary again, in the third epoch, and west follows it. */
async function eastServesAgain(set: ClusterSet): Promise<void> {
  expect(await health(set)).toEqual([200, 472])
  expect(await set.at('east').head()).toMatchObject({ mode: 'writing', n: 3 })
  await write(set, 'east', 'after')
  await operated(set, 'west', 'update-primary', { token: await activation(set, 'east') })
  await set.converge()
  expect(await set.everything('west')).toEqual(await set.everything('east'))
}

/** From west as the primary: east follows it, and takes over from it again. */
async function backToEast(set: ClusterSet): Promise<void> {
  await operated(set, 'east', 'update-primary', { token: await activation(set, 'west') })
  await write(set, 'west', 'of west')
  for (let rounds = 0; !(await set.isEven('east')); rounds++) {
    if (rounds === 30) throw new Error('east never follows')
    await set.clock.sleep(2000)
    // a position that nobody has written to is closed by schedule
    await set.at('west').minute()
    await set.at('east').pull()
  }
  await operated(set, 'east', 'promote')
}

/** The demotion of east is ended by others, and west takes over. */
async function demotedByOthers(set: ClusterSet): Promise<void> {
  await goneOnWith(set, 'east')
  await operated(set, 'west', 'promote')
}

/** All goes on by others, and in the end east is the primary again. */
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
const promotedByOthers = (set: ClusterSet) => goneOnWith(set, 'west')
const handover = { ...promotion, who: { cluster: 'east', process: 'link/Handover' } }

/** East was demoted, and is promoted again by force: another execution does it. */
const reopening: LateScene = {
  who: { cluster: 'east', process: 'on-operation' },
  before: set => demote(set, 'east'),
  act: set => operate(set, 'east', 'promote', { force: true }),
  meanwhile: set => goneOnWith(set, 'east'),
  holds: async set => {
    expect(await health(set)).toEqual([200, 472])
    expect(await set.at('east').head()).toMatchObject({ mode: 'writing', n: 2 })
    await write(set, 'east', 'after')
  },
}

test.each<[what: string, LateScene]>([
  ['a demotion', { ...demotion, meanwhile: demotedByOthers, holds: westServes }],
  [
    'a demotion, until its cluster is promoted again',
    { ...demotion, meanwhile: andBack(demotedByOthers), holds: eastServesAgain },
  ],
  ['a promotion', { ...promotion, meanwhile: promotedByOthers, holds: westServes }],
  [
    'a promotion, until its cluster is demoted again',
    { ...promotion, meanwhile: andBack(promotedByOthers), holds: eastServesAgain },
  ],
  ['who is promoted after a demotion', reopening],
  ['who hands over', { ...handover, meanwhile: promotedByOthers, holds: westServes }],
  [
    'who hands over, until its cluster is promoted again',
    { ...handover, meanwhile: andBack(promotedByOthers), holds: eastServesAgain },
  ],
])('comes too late, before whichever call it stands still: %s', async (_, scene) => {
  const late = await lateAtEachCall(from, scene, CALLS)
  expect(late).toBeGreaterThan(0)
})
