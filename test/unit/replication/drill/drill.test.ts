import { beforeEach, describe, expect, test } from 'vitest'
import type { ClusterMode } from '../../../../shared/model/cluster.ts'
import type { DrillRecord } from '../../../../shared/model/drill.ts'
import { changeDrillRoles, countLostCommits } from '../../../../shared/replication/drill/change.ts'
import { beginDrill, reportDrill, stopDrill } from '../../../../shared/replication/drill/report.ts'
import {
  type DrillDependencies,
  type DrillRun,
  DrillStopped,
} from '../../../../shared/replication/drill/run.ts'
import { takeDrillStep } from '../../../../shared/replication/drill/steps.ts'
import { findReadinessFault } from '../../../../shared/set/readiness.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { clusterItem } from '../../../builders/cluster-record.ts'
import { closedFormerPrimary, followerOf, primaryOf } from '../../../builders/pair-seen.ts'
import { portsWith } from '../../../builders/ports.ts'
import { type MemoryStore, memoryStore } from '../../../support/tables/memory-store.ts'

// Tests what each step of a drill decides, by the clusters' answers. `alone/replication/drill.test.ts` runs whole drills.

const START = 1_800_000_000_000
const MINUTE = 60_000
const SET = 'set'

let now: number
let memory: MemoryStore
let events: Record<string, unknown>[]
/** the requests that were made, and their answers */
let asked: string[]
interface Answer {
  status?: number
  data?: object
  text?: string
}
let answers: Record<string, Answer | (() => Answer)>

const readiness = (more: object = {}) => ({
  checks: [{ name: 'journal', passes: true, text: '' }],
  lag: { primary: 'answers' },
  license: { seconds_left: 86_400 },
  operation_token: { presented: { counts: true, why: '' } },
  ...more,
})
const drill = () => memory.stored.at(key('drill'))?.data
const put = (data: DrillRecord) => memory.stored.put({ ...key('drill'), rev: 'r', data })
const become = (mode: ClusterMode) => memory.stored.put(clusterItem({ name: 'east', set: SET, mode }))
const running = (more: Partial<DrillRecord> = {}): DrillRecord => ({
  id: 'one',
  status: 'running',
  step: 'check',
  startedAt: START,
  stepAt: START,
  peer: 'west',
  there: { unserved: null, lost: null },
  back: { unserved: null, lost: null },
  ...more,
})

beforeEach(() => {
  now = START
  memory = memoryStore()
  become('primary')
  events = []
  asked = []
  answers = {
    'peer sys/replication/dr/status': { data: followerOf('own', 'west') },
    'own sys/replication/dr/status': { data: primaryOf('west') },
    'own sys/replication/dr/readiness': { data: readiness() },
    'peer sys/replication/dr/secondary/readiness': { data: readiness() },
  }
})

const run = (): DrillRun => ({
  policy: 'drill',
  deadline: Number.POSITIVE_INFINITY,
  ask: async (to: string, _method: string, path: string) => {
    const name = `${to} ${path.split('?')[0]}`
    asked.push(name)
    const given = answers[name] ?? {}
    const { status = 200, data = {}, text = '' } = typeof given === 'function' ? given() : given
    return { status, body: { data }, refused: status < 300 ? '' : `${status} ${text}` }
  },
  ports: portsWith({
    clock: {
      now: () => now,
      sleep: async (ms: number) => {
        now += ms
        if (now - START > 24 * 60 * MINUTE) throw new DrillStopped('it never ends')
      },
    },
    cipher: { expectKeyring: () => undefined, encryptToken: async () => 'sealed' },
    events: {
      put: async (some: readonly { detail: Record<string, unknown> }[]) =>
        void events.push(...some.map(({ detail }) => detail)),
    },
    log: { info: () => undefined, error: () => undefined },
    deployment: { clusterName: 'east' },
    store: memory.as('on-drill'),
  }),
})

describe('readiness for a drill', () => {
  test.each<[what: string, change: object, fault: string]>([
    ['is given if the answer says so', {}, ''],
    [
      'is given whatever a primary knows of its secondaries',
      { checks: [{ name: 'secondaries', passes: false, text: 'x' }] },
      '',
    ],
    [
      'is refused if a check fails',
      { checks: [{ name: 'journal', passes: false, text: 'it ended' }] },
      'own: it ended',
    ],
    [
      'is refused if the token is not sufficient',
      { operation_token: { presented: { counts: false, why: 'no policy' } } },
      'own: the operation token is not sufficient: no policy',
    ],
    [
      'is refused if the answer does not judge the token',
      { operation_token: undefined },
      'own: the operation token is not sufficient: the answer gives no reason',
    ],
    [
      'is refused if the licence expires within a day',
      { license: { seconds_left: 86_399 } },
      'own: the licence ends within a day; without it no cluster can rejoin',
    ],
    [
      'is refused without a licence',
      { license: undefined },
      'own: the licence ends within a day; without it no cluster can rejoin',
    ],
    [
      'is refused if a secondary has no contact with its primary',
      { lag: { primary: 'silent' } },
      'own: it has no contact to its primary, which therefore cannot hand over',
    ],
    ['on a primary, which has no lag', { lag: undefined }, ''],
    [
      'is refused if the answer is malformed',
      { checks: 7 },
      'own: the readiness answer is malformed: checks is odd',
    ],
    [
      'is refused if the answer has no checks',
      { checks: undefined },
      'own: the readiness answer is malformed: checks is missing',
    ],
  ])('%s', (_, change, fault) => {
    expect(findReadinessFault('own', JSON.parse(JSON.stringify(readiness(change))))).toBe(fault)
  })
})

describe('the check before a drill', () => {
  const checked = async () => {
    put(running())
    now += MINUTE
    return takeDrillStep(run(), 'one', 'check').then(
      () => drill()?.step,
      ({ name, message }: Error) => `${name}: ${message}`,
    )
  }

  test('the check passes if both clusters are ready and in one set, and stores the peer’s name', async () => {
    expect(await checked()).toBe('there')
    expect(drill()?.peer).toBe('west')
  })

  test.each<[what: string, set: () => unknown, text: RegExp]>([
    [
      'on a secondary',
      () => (answers['own sys/replication/dr/status'] = { data: closedFormerPrimary }),
      /not the primary/,
    ],
    [
      'with a cluster of another set',
      () =>
        (answers['peer sys/replication/dr/status'] = { data: { mode: 'secondary', cluster_id: 'other' } }),
      /not a secondary of this set/,
    ],
    [
      'with two primaries',
      () => (answers['peer sys/replication/dr/status'] = { data: { mode: 'primary', cluster_id: SET } }),
      /the mode of the peer is primary/,
    ],
    [
      'with an empty readiness answer of the primary',
      () => (answers['peer sys/replication/dr/status'] = { status: 502, text: 'bad gateway' }),
      /status: 502 bad gateway/,
    ],
    [
      'without a readiness answer of the primary',
      () =>
        (answers['own sys/replication/dr/readiness'] = { status: 403, data: readiness(), text: 'denied' }),
      /the readiness of this cluster answers 403 denied/,
    ],
    [
      'if the secondary is not ready',
      () => (answers['peer sys/replication/dr/secondary/readiness'] = { data: readiness({ license: {} }) }),
      /^DrillStopped: peer: the licence/,
    ],
    [
      'if the secondary counts the primary as lost',
      () =>
        (answers['peer sys/replication/dr/secondary/readiness'] = {
          data: readiness({ lag: { primary: 'silent' } }),
        }),
      /has no contact to its primary/,
    ],
  ])('the check refuses a drill %s', async (_, set, text) => {
    set()
    expect(await checked()).toMatch(text)
  })

  test('the check waits half a minute for a temporary obstacle', async () => {
    put(running())
    answers['own sys/replication/dr/status'] = { data: closedFormerPrimary }
    now += 29_999
    expect(await takeDrillStep(run(), 'one', 'check')).toEqual({ next: 'again' })
    now = START + 30_000
    await expect(takeDrillStep(run(), 'one', 'check')).rejects.toThrow('not the primary')
  })
})

describe('beginning a drill', () => {
  test.each<[when: string, last: Partial<DrillRecord> | undefined, begins: boolean]>([
    ['without an earlier drill', undefined, true],
    ['by the same execution again', { id: 'two' }, true],
    ['after a drill that has ended', { status: 'done' }, true],
    ['is refused while another drill runs', { startedAt: START - 119 * MINUTE }, false],
    ['after a drill that died two hours ago', { startedAt: START - 120 * MINUTE }, true],
  ])('%s', async (_, last, begins) => {
    if (last) put(running(last))
    expect(await beginDrill(run(), 'two')).toBe(begins)
    expect(drill()?.id === 'two').toBe(begins)
  })

  test('a secondary refuses to begin a drill', async () => {
    become('secondary')
    expect([await beginDrill(run(), 'two'), drill()]).toEqual([false, undefined])
  })

  test('beginning the drill again by the same execution keeps the progress', async () => {
    put(running({ id: 'two', step: 'settle' }))
    expect(await beginDrill(run(), 'two')).toBe(true)
    expect(drill()?.step).toBe('settle')
  })
})

describe('a step of a drill', () => {
  test.each<[what: string, more: Partial<DrillRecord>]>([
    ['that an earlier attempt completed', { step: 'there' }],
    ['of a drill that has ended', { status: 'stopped' }],
  ])('the step %s does nothing', async (_, more) => {
    put(running(more))
    expect(await takeDrillStep(run(), 'one', 'check')).toEqual({ next: 'done' })
    expect([asked, drill()]).toEqual([[], running(more)])
  })

  test('a step of a drill that is no longer the newest is refused', async () => {
    put(running())
    await expect(takeDrillStep(run(), 'two', 'check')).rejects.toThrow('another drill has begun')
  })

  test('a step that waits for the former primary’s readiness gives up after a quarter of an hour', async () => {
    answers['own sys/replication/dr/secondary/readiness'] = { data: readiness({ license: {} }) }
    put(running({ step: 'settle' }))
    expect(await takeDrillStep(run(), 'one', 'settle')).toEqual({ next: 'again' })
    now = START + 15 * MINUTE
    await expect(takeDrillStep(run(), 'one', 'settle')).rejects.toThrow('own: the licence')
    answers['own sys/replication/dr/secondary/readiness'] = { data: readiness() }
    expect(await takeDrillStep(run(), 'one', 'settle')).toEqual({ next: 'done' })
    expect(drill()).toMatchObject({ step: 'back', there: { lost: 0 } })
  })
})

describe('reporting the end of a drill', () => {
  test.each<[step: string, result: string]>([
    ['check', 'refused'],
    ['there', 'stopped'],
    ['settle back', 'stopped'],
  ])('a drill that ends in the step %s is reported as %s', async (step, result) => {
    put(running({ step }))
    await stopDrill(run(), 'one', 'why')
    await stopDrill(run(), 'one', 'why')
    expect(events).toEqual([expect.objectContaining({ result, step, text: 'why' })])
    expect(events[0]?.['next']).not.toBe('')
  })

  test('the loss report of a drill is sent once, and not for another drill', async () => {
    put(running({ id: 'two' }))
    await stopDrill(run(), 'one', 'why')
    expect(events).toEqual([])
    await reportDrill(run(), 'two')
    await reportDrill(run(), 'two')
    expect(events).toEqual([expect.objectContaining({ result: 'done', next: '' })])
  })
})

describe('a switch in a drill', () => {
  const promote = 'peer sys/replication/dr/secondary/promote'
  const becomes = () => {
    answers['peer sys/replication/dr/status'] = { data: { ...primaryOf('own'), ssct_generation_counter: 2 } }
    answers['own sys/replication/dr/status'] = { data: closedFormerPrimary }
    return {}
  }
  const drilling = (): DrillDependencies => ({
    ...run(),
    clock: run().ports.clock,
    token: async () => 'token',
    ownName: async () => 'east',
  })
  const switched = (more: Partial<DrillRecord> = {}) =>
    changeDrillRoles(drilling(), running({ step: 'there', ...more }), 'there', 'promote')
  const unservedIn = async () => {
    const done = await switched()
    return done.ok ? done.value.there?.unserved : done.fault
  }

  test('a switch that an earlier attempt completed is not repeated, however long the switch took', async () => {
    becomes()
    expect(await unservedIn()).toBeNull()
    expect(asked.filter(one => one.endsWith('promote'))).toEqual([])
  })

  test('a switch is repeated for ten minutes after a 503 or a lost answer', async () => {
    let times = 0
    answers[promote] = () => {
      times += 1
      if (times === 1) throw new Error('the answer is lost')
      return times < 3 ? { status: 503, text: 'it goes on' } : becomes()
    }
    expect(await unservedIn()).toEqual(expect.any(Number))
    expect(asked.filter(one => one === promote)).toHaveLength(3)
    now = START
    answers['peer sys/replication/dr/status'] = { data: followerOf('own', 'west') }
    answers['own sys/replication/dr/status'] = { data: primaryOf('west') }
    answers[promote] = { status: 503, text: 'it goes on' }
    await expect(switched()).rejects.toThrow('answers 503 it goes on')
    expect(now - START).toBeGreaterThanOrEqual(10 * MINUTE)
  })

  test('a refused switch is not repeated', async () => {
    answers[promote] = { status: 400, text: 'no' }
    await expect(switched()).rejects.toMatchObject({ name: 'DrillStopped' })
    expect(asked.filter(one => one === promote)).toHaveLength(1)
  })

  test('with two primaries the switch waits, then stops the drill', async () => {
    becomes()
    answers['own sys/replication/dr/status'] = { data: primaryOf('west') }
    const follow = (more: object) =>
      changeDrillRoles(drilling(), running({ step: 'follow', ...more }), 'there', 'follow')
    expect(await follow({})).toMatchObject({ ok: false })
    await expect(follow({ stepAt: START - 10 * MINUTE })).rejects.toThrow(
      'the time limit passed before own reaches peer and closes',
    )
    const both = { ...primaryOf('own'), ssct_generation_counter: 1 }
    answers['peer sys/replication/dr/status'] = { data: both }
    await expect(switched()).rejects.toMatchObject({ name: 'DrillStopped' })
  })

  test('a malformed answer stops the switch, and a missing answer is retried', async () => {
    answers['peer sys/replication/dr/status'] = { data: {} }
    await expect(switched()).rejects.toMatchObject({ name: 'DrillStopped' })
    answers['peer sys/replication/dr/status'] = () => {
      throw new Error('no route')
    }
    await expect(switched()).rejects.toMatchObject({ name: 'Error', message: 'peer: no route' })
  })

  test('the drill measures the longest time without a serving cluster', async () => {
    // no cluster serves for more than 1 s; then a cluster serves until the end
    let isAsked = false
    const served = [200, 503, 503, 503, 503, 200]
    let looks = 0
    answers['own sys/health'] = () => ({ status: isAsked ? (served[looks++] ?? 200) : 200 })
    answers['peer sys/health'] = { status: 472 }
    let times = 0
    answers[promote] = () => {
      isAsked = true
      return ++times < 12 ? { status: 503 } : becomes()
    }
    expect(await unservedIn()).toBeGreaterThanOrEqual(1000)
  })

  test("the switch makes the former primary follow once, under the former primary's name", async () => {
    becomes()
    const done = () => changeDrillRoles(drilling(), running({ step: 'follow' }), 'there', 'follow')
    answers['own sys/replication/dr/secondary/update-primary'] = () => {
      answers['own sys/replication/dr/status'] = { data: followerOf('west', 'east') }
      return {}
    }
    answers['peer sys/replication/dr/status'] = {
      data: { ...primaryOf('east'), ssct_generation_counter: 2 },
    }
    expect(await done()).toMatchObject({ ok: true })
    expect(
      asked.filter(one => !/health|status/.test(one)).map(one => one.replace('sys/replication/dr/', '')),
    ).toEqual([
      'own secondary/generate-public-key',
      'peer primary/secondary-token',
      'own secondary/update-primary',
    ])
    asked = []
    expect(await done()).toMatchObject({ ok: true })
    expect(asked.filter(one => !/health|status/.test(one))).toEqual([])
  })
})

test('the drill counts commits lost since its beginning, and stops if the lost commits cannot be read', async () => {
  const losing = {
    ...run(),
    clock: run().ports.clock,
    token: async () => 'token',
    ownName: async () => 'east',
  }
  const lost = [-1, 0, 5].map(ms => ({ time: new Date(START + ms).toISOString() }))
  answers['own sys/replication/dr/divergence'] = { data: { lost } }
  expect(await countLostCommits(losing, 'own', START)).toBe(2)
  answers['own sys/replication/dr/divergence'] = { data: { lost, complete: false } }
  expect(await countLostCommits(losing, 'own', START), 'more may come').toBeUndefined()
  answers['own sys/replication/dr/divergence'] = { status: 403, text: 'denied', data: { lost } }
  await expect(countLostCommits(losing, 'own', START)).rejects.toThrow(
    'the divergence request to own failed: 403 denied',
  )
})
