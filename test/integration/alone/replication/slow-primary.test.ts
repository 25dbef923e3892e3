import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { sized } from '../../../support/runner/size.ts'
import type { Reply } from '../../../support/service/api.ts'
import type { Manner } from '../../../support/set/network.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// A primary answers late or never, or its front end answers instead. Every operation that calls the primary
// must end.

const R = '/sys/replication/dr'
/** Milliseconds within which a forced promotion ends, whatever the primary does. */
const FORCED_MS = 15_000
/** Milliseconds that a call to hanging tables takes: three attempts with pauses. */
const HANGS_MS = 9700

let from: Warm
let set: ClusterSet

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})
beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
})

/** The ways in which a primary may be disturbed. */
const manners: Readonly<Record<string, (set: ClusterSet) => void>> = {
  'answers after 9 s': set => so(set, { late: 9000 }),
  'is a black hole': set => so(set, 'never'),
  'has a front whose storage is gone': set => so(set, { front: 'HTTP 503', late: 0 }),
  'has storage that hangs': set => {
    const next = () => {
      const where = { cluster: 'east', process: 'link', at: 1, when: 'before' } as const
      set.trap({ ...where, does: HANGS_MS })
      set.trap({ ...where, does: 'loses', struck: next })
    }
    next()
  },
}
const so = (set: ClusterSet, manner: Manner): void => set.net.answersSo('east', manner)

const asked = (path: string, body: object = {}): Promise<Reply> =>
  set.at('west').request('POST', `${R}/secondary/${path}`, { dr_operation_token: from.operator, ...body })
const write = async (name: string) =>
  (await set.at('east').request('POST', `/sys/policies/acl/${name}`, { policy: 'path "a" {}' })).status
const health = async (name: string) => (await set.at(name).request('GET', '/sys/health')).status

/** Repeats the request while the operation continues, and measures the total time. */
async function toTheEnd(path: string, body: object = {}): Promise<{ reply: Reply; took: number }> {
  const start = set.clock.now()
  for (;;) {
    const reply = await asked(path, body)
    if (!reply.text.includes('is still running')) return { reply, took: set.clock.now() - start }
    if (set.clock.now() - start > 600_000) throw new Error('it never ends')
  }
}

/** Checks that no text blames an internal error, and that each text says what to do next. */
function isHelpful({ text }: Reply): void {
  expect(text).not.toMatch(/ApiError|Error:|States\./)
  expect(text).toMatch(/; \S/)
}

/** The moments at which the disturbance begins: before the first call, or at a step of the promotion. */
const moments: readonly [when: string, step: string][] = [
  ['from the beginning', ''],
  ['before the handover', 'Handover'],
  ['after the handover', 'after'],
]

/** Disturbs a primary at one of the `moments`. */
function beginAt(step: string, begins: () => void): void {
  if (step === '') begins()
  else
    set.trap({
      cluster: 'west',
      process: 'on-operation',
      step: 'Handover to',
      at: 1,
      does: 0,
      struck: begins,
      when: step === 'after' ? 'after' : 'before',
    })
}

describe.each(Object.keys(manners))('a primary that %s', manner => {
  const begins = () => manners[manner]?.(set)

  test.each(moments)('%s: a forced promotion ends within 15 s', async (_, step) => {
    set.recording.allowTwo('east')
    expect(await write('last')).toBe(204)
    beginAt(step, begins)
    const { reply, took } = await toTheEnd('promote', { force: true })
    expect(reply.status, reply.text).toBe(200)
    expect(took).toBeLessThanOrEqual(FORCED_MS)
    expect(await health('west')).toBe(200)
  })

  test.each(moments)('%s: a planned promotion ends, and says how', async (_, step) => {
    expect(await write('last')).toBe(204)
    beginAt(step, begins)
    const { reply } = await toTheEnd('promote')
    if (reply.status === 200) {
      expect((await set.at('west').request('GET', '/sys/policies/acl/last')).status).toBe(200)
      return
    }
    expect(reply.status, reply.text).toBe(503)
    isHelpful(reply)
    expect(await set.at('west').record()).not.toHaveProperty('operation')
    expect((await set.at('west').head()).mode).toBe('applying')
  })

  test.each<[string, () => Promise<object>]>([
    ['by token', async () => ({ token: await activation() })],
    ['by addresses', async () => ({ update_primary_addrs: ['https://gone.test', 'https://east.test'] })],
  ])('does not block an update by addresses, %s', async (_, given) => {
    const body = await given()
    begins()
    const { reply, took } = await toTheEnd('update-primary', body)
    expect(took).toBeLessThanOrEqual(90_000)
    if (reply.status !== 200) {
      expect([reply.status, reply.headers['retry-after']]).toEqual([503, '10'])
      isHelpful(reply)
    }
    expect(await set.at('west').record()).not.toHaveProperty('operation')
  })
})

/** A separate cluster outside the set. */
async function northIsThere(): Promise<void> {
  const { body } = await set.at('north').ok('PUT', '/sys/init', {})
  set.at('north').useToken(body.root_token)
}

const joins: readonly [when: string, process: string][] = [
  ['from the beginning', ''],
  ['before the wipe', 'Keyring to'],
  ['before the first sync', 'Scan to'],
]

describe.each(Object.keys(manners))('a primary that %s, to a cluster that joins the primary', manner => {
  test.each(joins)('%s: the joining cluster is a secondary at the end, or unchanged', async (_, step) => {
    set = await clusterSet(['east', 'west', 'north'], { from, memory: true, aws: true })
    await northIsThere()
    const token = await activation()
    const begins = () => manners[manner]?.(set)
    if (step === '') begins()
    else
      set.trap({
        cluster: 'north',
        process: 'on-operation',
        step,
        at: 1,
        when: 'before',
        does: 0,
        struck: begins,
      })
    const reply = await set.at('north').request('POST', `${R}/secondary/enable`, { token })
    if (reply.status !== 200 && !reply.text.includes('is still running')) isHelpful(reply)
    await set.clock.sleep(120_000)
    // the primary answers normally again
    const { mode } = await set.at('north').record()
    set.net.answersSo('east')
    if (manner === 'has storage that hangs') return expect(mode).toMatch(/^(disabled|secondary)$/)
    await set.settled()
    const after = await set.at('north').record()
    expect(after).not.toHaveProperty('operation')
    if (after.mode === 'disabled') return expect(await health('north')).toBe(200)
    set.at('north').useToken(set.at('east').token())
    await set.converge('north')
    expect((await set.everything('north')).items).toEqual((await set.everything('east')).items)
  })
})

/** A sync of many calls takes hours if each takes 9 s. */
const compared = Object.keys(manners).slice(sized(1, 0))

test.each(compared)(
  'a primary that %s: a comparison with that primary ends, and reports its result',
  async manner => {
    manners[manner]?.(set)
    const reply = await asked('reindex', { diff: true })
    expect(reply.status).toBe(200)
    await set.settled()
    const [anew] = await set.at('west').ports.store.read([key('tree-reindex')])
    expect(anew?.data.stage).toMatch(/^(done|failed)$/)
    const [operation] = await set.at('west').ports.store.read([key('operation', anew?.data.operation ?? '')])
    if (operation?.data.fault) isHelpful({ text: operation.data.fault.text } as Reply)
  },
)

const activation = async (): Promise<string> =>
  (await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'again' })).body.wrap_info.token

describe('a promotion without force, behind a front that sends unsigned answers', () => {
  test.each(['has a front whose storage is gone', 'has storage that hangs'])(
    'a primary that %s does not count as silent, however long: 503 with the unsigned answer',
    async manner => {
      manners[manner]?.(set)
      set.pass(3_600_000)
      const { reply } = await toTheEnd('promote')
      expect(reply.status).toBe(503)
      expect(reply.text).toMatch(/may still be serving clients: .*(HTTP 503|the answer said: )/)
      expect(reply.text).toMatch(/repeat the request later, or use force/)
    },
  )

  test('a throttled link refuses a promotion, and a working link allows the promotion', async () => {
    so(set, { front: 'HTTP 429', late: 100 })
    set.pass(120_000)
    expect((await toTheEnd('promote')).reply.text).toMatch(/HTTP 429/)
    expect(await write('meanwhile')).toBe(204)
    set.net.answersSo('east')
    await set.converge()
    expect((await toTheEnd('promote')).reply.status).toBe(200)
    expect([await health('east'), await health('west')]).toEqual([472, 200])
  })
})
