import type { Context } from 'aws-lambda'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DrillRecord } from '../../../../shared/model/drill.ts'
import type { AskCluster } from '../../../../shared/replication/drill/run.ts'
import { drillSteps } from '../../../../shared/replication/drill/steps.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { createDrillHandler } from '../../../../shared/workers/drills.ts'
import { asFunction, checkAllowed } from '../../../support/iam/judge.ts'
import { workflowRequest } from '../../../support/iam/requests.ts'
import { blocksOf } from '../../../support/programs/pages.ts'
import { having } from '../../../support/set/member-ports.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const DR = 'sys/replication/dr'
/** The policy that the runbook has an administrator write. */
const [block = ''] = blocksOf('drill')
const POLICY = /<< 'END'\n([\s\S]*?)END\n/.exec(block)?.[1] ?? ''

let set: ClusterSet
let write: ReturnType<typeof promotions>['write']
let policies: ReturnType<typeof promotions>['policies']

async function pair(): Promise<void> {
  set = await clusterSet(['east', 'west'], { memory: true })
  ;({ write, policies } = promotions(set))
  await set.enable('east')
  await set.join('west', 'east')
  await set.at('east').ok('POST', '/sys/policies/acl/drill', { policy: POLICY })
  await set.converge()
  await promotions(set).giveToken('west')
}

/**
 * Sends the calls of east's Lambda to its own API and to west's API. @param lost whether an answer is lost
 */
const asking =
  (lost: (path: string) => boolean = () => false): AskCluster =>
  async (to, method, path, { body, token = '' } = {}) => {
    const reply = await set.at(to === 'own' ? 'east' : 'west').request(method, `/${path}`, body, { token })
    if (method === 'POST' && lost(path)) throw new Error('the answer was lost')
    const { status, body: answer = {}, text: told } = reply
    return { status, body: answer, refused: status < 300 ? '' : `${status} ${told}` }
  }

const context = { getRemainingTimeInMillis: () => 900_000 } as Context
const DRILL_TRIES = 4

/**
 * Runs the drill as the state machine does: repeats each step until the step is done, retries failures, and
 * reports the end.
 */
async function drilled(ask = asking(), at: (step: string) => Promise<unknown> = async () => undefined) {
  const { ports } = set.at('east')
  const handler = createDrillHandler(set.at('east').as('on-drill'), { policy: 'drill', ask })
  const operation = ports.entropy.uuid()
  const take = async (step: string): Promise<void> => {
    for (let tries = 1; ; )
      try {
        const { next } = await handler({ workflow: 'drill', operation, step }, context)
        // repeating the completed step changes nothing
        if (next === 'done') return void (await handler({ workflow: 'drill', operation, step }, context))
        await set.tick()
        // the state machine waits before it repeats a step
        await ports.clock.sleep(2000)
      } catch (error) {
        if ((error as Error).name === 'DrillStopped' || tries++ === DRILL_TRIES) throw error
        await ports.clock.sleep(2000)
      }
  }
  try {
    for (const { name } of [...drillSteps, { name: 'report' }]) {
      await at(name)
      await take(name)
    }
  } catch (error) {
    await handler({ workflow: 'drill', operation, step: 'stopped', error: (error as Error).name }, context)
  }
  await set.settled()
  return told()
}

async function told(): Promise<{
  event: Record<string, unknown> | undefined
  drill: DrillRecord | undefined
}> {
  const { ports, events } = set.at('east')
  const [item] = await ports.store.read([key('drill')])
  return { event: events.findLast(({ type }) => type === 'DR drill')?.detail, drill: item?.data }
}

const modes = () => Promise.all(['east', 'west'].map(async name => (await set.at(name).record()).mode))

describe('a drill', () => {
  beforeEach(pair)

  test('promotes the secondary and switches back although answers are lost, loses no acknowledged commit, and reports its measurements', async () => {
    const acknowledged: string[] = []
    let over = false
    const writer = async (who: string) => {
      for (let n = 0; !over; n++) {
        const reply = await write(who, `of-${who}-${n}`).catch(() => undefined)
        if (reply?.status === 204) acknowledged.push(`of-${who}-${n}`)
        await set.clock.sleep(2000)
      }
    }
    const writers = ['east', 'west'].map(writer)
    const seen = new Set<string>()
    const delicate = /promote$|secondary-token$|update-primary$/
    const { event, drill } = await drilled(
      asking(path => delicate.test(path) && !seen.has(path) && Boolean(seen.add(path))),
    )
    over = true
    expect(seen.size).toBe(3)
    await Promise.all(writers)
    expect(event).toMatchObject({ result: 'done', text: '', next: '', lost: [0, 0], name: 'east' })
    expect(event?.['unserved']).toEqual([expect.any(Number), expect.any(Number)])
    expect(drill).toMatchObject({ status: 'done', peer: 'west' })
    expect(await modes()).toEqual(['primary', 'secondary'])
    await set.converge()
    expect(acknowledged.some(name => name.startsWith('of-west'))).toBe(true)
    expect(await policies('east')).toEqual(expect.arrayContaining(acknowledged))
    const line = set.at('east').told.findLast(({ message }) => message === 'drill')
    expect(line).toMatchObject({
      level: 'info',
      fields: {
        DrillSucceeded: 1,
        DrillLost: 0,
        Cluster: 'east',
        _aws: { CloudWatchMetrics: [{ Namespace: 'cloud-auth', Dimensions: [['Cluster']] }] },
      },
    })
    const texts = JSON.stringify([set.at('east').told, set.at('east').events, drill])
    expect(texts).not.toMatch(/hvb\./)
  })

  test('that fails half way leaves one primary, and its event says what an operator should do', async () => {
    const { event, drill } = await drilled(asking(), async step => {
      if (step === 'follow') await set.at('west').ok('DELETE', '/sys/policies/acl/drill')
    })
    expect(drill).toMatchObject({ status: 'stopped', step: 'follow' })
    expect(event).toMatchObject({
      result: 'stopped',
      step: 'follow',
      text: expect.stringContaining('403'),
      next: expect.stringMatching(/the peer is the primary and serves clients.*update-primary/),
    })
    expect(await modes()).toEqual(['secondary', 'primary'])
    expect(set.at('east').told.findLast(({ message }) => message === 'drill')?.level).toBe('error')
  })
})

describe('a drill does not begin', () => {
  beforeAll(pair)

  test.each<[what: string, first: () => unknown, text: RegExp, undo?: () => unknown]>([
    [
      'without its policy',
      () => set.at('east').ok('DELETE', '/sys/policies/acl/drill'),
      /403|does not do/,
      () => set.at('east').ok('POST', '/sys/policies/acl/drill', { policy: POLICY }),
    ],
    [
      'if the secondary does not reach this cluster',
      () => set.cut('west', 'east'),
      /does not|last heartbeat/,
      () => set.heal('east', 'west'),
    ],
    [
      'if the other cluster is not of this set',
      () => set.at('west').ok('POST', `/${DR}/secondary/disable`, { dr_operation_token: OPERATION_TOKEN }),
      /not a secondary of this set: the mode of the peer is disabled/,
    ],
  ])('%s', async (_, first, text, undo) => {
    await first()
    const before = await modes()
    const { event } = await drilled()
    expect(event).toMatchObject({ result: 'refused', text: expect.stringMatching(text) })
    expect(await modes()).toEqual(before)
    await undo?.()
    // wait until the secondary has the undone change too
    if (undo) await set.converge()
  })

  test('twice at once, on a secondary, or without the setting', async () => {
    const { ports } = set.at('east')
    const started: string[] = []
    const workflows = {
      ...ports.workflows,
      start: async (name: string) => {
        checkAllowed(workflowRequest('StartExecution', name))
        started.push(name)
        return 'runs' as const
      },
    }
    const schedule = (at: string) =>
      asFunction('on-drill', () =>
        createDrillHandler(having(set.at(at).as('on-drill'), { workflows }), {
          policy: 'drill',
          ask: asking(),
        })({}, context),
      )
    await schedule('west')
    expect(started).toEqual([])
    await schedule('east')
    await schedule('east')
    expect(started).toEqual(['drill'])
    await createDrillHandler(having(set.at('east').as('on-drill'), { workflows }), undefined)({}, context)
    expect(started).toEqual(['drill'])
  })
})
