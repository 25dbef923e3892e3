import { beforeAll, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { invariants } from '../../../support/set/checks/all.ts'
import { violationsIn } from '../../../support/set/history.ts'
import { NAMES, type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { clusterSet } from '../../../support/set/set.ts'

// Tests which silence of a primary allows a promotion without force, and what a primary leaves that dies
// during a handover.

const R = '/sys/replication/dr'
const PAIR = ['east', 'west']

let three: Warm
let two: Warm

beforeAll(async () => {
  three = await warmSnapshot({ memory: true })
  two = await warmSnapshot({ memory: true, names: PAIR })
})

test.each([
  ['a minute', 60_000],
  ['an hour', 3_600_000],
])(
  'a cluster that did not learn of a switch needs force for a promotion next to the new primary, also %s later',
  async (_, ms) => {
    const set = await clusterSet(NAMES, { from: three, memory: true, aws: true })
    const asked = (name: string, path: string, body: object = {}) =>
      set.at(name).request('POST', `${R}/${path}`, { dr_operation_token: three.operator, ...body })
    const health = () =>
      Promise.all(NAMES.map(async name => (await set.at(name).request('GET', '/sys/health')).status))
    await set.converge()
    expect((await asked('north', 'secondary/promote')).status).toBe(200)
    await set.settled()
    const { body } = await set.at('north').ok('POST', `${R}/primary/secondary-token`, { id: 'east' })
    expect((await asked('east', 'secondary/update-primary', { token: body.wrap_info.token })).status).toBe(
      200,
    )
    await set.settled()
    expect(await health()).toEqual([472, 472, 200])

    for (let passed = 0; passed < ms; passed += 60_000) {
      set.pass(60_000)
      if (ms > 60_000 && passed % 600_000 === 0) await set.tick()
    }
    const refused = await asked('west', 'secondary/promote')
    expect([refused.status, refused.text]).toEqual([
      503,
      expect.stringMatching(/the primary answers, and refuses/),
    ])
    expect(await health()).toEqual([472, 472, 200])
    expect(violationsIn(set.recording.history, invariants)).toEqual([])

    set.recording.allowTwo('west')
    expect((await asked('west', 'secondary/promote', { force: true })).status).toBe(200)
  },
)

test('silence is measured until the call to the primary, so a promotion that was frozen afterwards calls again', async () => {
  const set = await clusterSet(PAIR, { from: two, memory: true, aws: true })
  await set.converge()
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  set.trap({
    cluster: 'west',
    process: 'on-operation',
    step: 'Heartbeat',
    at: 1,
    when: 'before',
    does: 70_000,
  })
  const reply = await set
    .at('west')
    .request('POST', `${R}/secondary/promote`, { dr_operation_token: two.operator })
  await set.settled()
  const { body } = await set.at('west').ok('GET', `${R}/status`)
  expect([reply.status, body.data.mode]).toEqual([503, 'secondary'])
})

test.each([
  ['set forward while its primary was unreachable', 300_000],
  ['right, but frozen for an hour,', 0],
])('a secondary whose clock was %s has not proven a minute of silence', async (_, to) => {
  const set = await clusterSet(PAIR, { from: two, memory: true, aws: true })
  await set.converge()
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  if (to === 0) set.pass(3_600_000)
  set.at('west').setClock(to)
  const promote = () =>
    set.at('west').request('POST', `${R}/secondary/promote`, { dr_operation_token: two.operator })
  // one unanswered call adds 15 s to the silence, however long ago the previous call was
  const refused = await promote()
  expect([refused.status, refused.text]).toEqual([
    503,
    expect.stringMatching(/unanswered calls show 15 s of silence, and a promotion without force needs 60 s/),
  ])
  await set.settled()
  await set.passAsking(20_000)
  expect((await promote()).status).toBe(503)
  await set.settled()
  await set.passAsking(40_000)
  expect((await promote()).status).toBe(200)
})

test('a primary whose epoch was ended by a call that then died steps down by itself', async () => {
  const set = await clusterSet(PAIR, { from: two, memory: true, aws: true })
  const { ports, head, record, minute } = set.at('east')
  const { epoch } = await head()
  await ports.journal.moveHead(headMoves.close(await head(), 'west’s id', 0))
  await minute()
  expect(await record()).toMatchObject({ mode: 'secondary', epoch })
  expect(await head()).toMatchObject({ mode: 'closed', epoch, successor: 'west’s id' })
  expect((await set.at('east').request('GET', '/sys/health')).status).toBe(472)
  expect(set.at('east').audited).toContainEqual(
    expect.objectContaining({ event: 'primary-closed', reason: 'unfinished' }),
  )
})

test.each([
  ...[1, 2, 3, 4, 5, 6].map(at => ['forward', 'answers', 300_000, 0, at, ''] as const),
  ['back', 'does not', 0, 300_000, 1, 'Heartbeat'] as const,
])(
  'a clock that is set %s while a promotion calls a primary that %s does not prove enough silence (%#)',
  async (_, manner, to, before, at, step) => {
    const set = await clusterSet(NAMES, { from: three, memory: true, aws: true })
    await set.converge()
    set.at('west').setClock(before)
    if (manner !== 'answers') set.net.answersSo('east', 'never')
    const struck = () => set.at('west').setClock(to)
    set.trap({ cluster: 'west', process: 'on-operation', step, at, when: 'before', does: 0, struck })
    const asked = set
      .at('west')
      .request('POST', `${R}/secondary/promote`, { dr_operation_token: three.operator })
      .catch(() => undefined)
    await set.at('west').ports.clock.sleep(12_500)
    set.net.answersSo('east')
    await asked
    await set.settled()
    expect(violationsIn(set.recording.history, invariants)).toEqual([])
  },
)
