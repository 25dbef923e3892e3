import { beforeEach, describe, expect, test } from 'vitest'
import type { OperationState } from '../../../../shared/model/operation.ts'
import { OperationFailed } from '../../../../shared/replication/operation/faults.ts'
import type { OperationRun } from '../../../../shared/replication/operation/run.ts'
import { giveUpPromotion } from '../../../../shared/replication/promotion/serve.ts'
import { promotionSteps } from '../../../../shared/replication/promotion/step.ts'
import { createItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { operationWorkflows } from '../../../../shared/workers/operations.ts'
import { having } from '../../../support/set/member-ports.ts'
import { type promotions, readyToPromote } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import { Crash, crashes } from '../../../support/tables/crash.ts'

const OPERATION = '0c0ffee0-0000-4000-8000-000000000001'

let set: ClusterSet
let doing: ReturnType<typeof promotions>

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { aws: true })
  doing = await readyToPromote(set)
})

/** Stores the state that an administrator's request leaves: an operation without any completed step. */
async function begun(id = OPERATION): Promise<void> {
  const { store, clock } = set.at('west').ports
  const [record] = await store.read([key('cluster')])
  if (!record) throw new Error('not initialised')
  const state: OperationState = {
    name: 'promotion',
    status: 'running',
    step: 'verify',
    startedAt: clock.now(),
    changedAt: clock.now(),
    promotion: { force: false, requestHmac: 'hmac', warnings: [] },
  }
  await store.commit(
    [createItem(key('operation', id), state), replaceItem(record, record, { ...record.data, operation: id })],
    { record: record.data, readAt: clock.now() },
  )
}

const runOf = (
  watched: <T extends object>(port: T) => T = port => port,
  ports: Partial<OperationRun['ports']> = {},
): OperationRun => {
  const own = set.at('west')
  const { store, journal } = own.as('on-operation')
  return {
    ports: having<OperationRun['ports']>(own.as('on-operation'), {
      store: watched(store),
      journal: watched(journal),
      ...ports,
    }),
    connect: peer => watched(own.connect(peer)),
    deadline: Number.POSITIVE_INFINITY,
  }
}

/** Runs all steps of the promotion, as the workflow does. */
async function takeSteps(run: OperationRun, id = OPERATION): Promise<void> {
  for (const name of promotionSteps)
    for (let tries = 0; (await operationWorkflows.promotion.steps[name](run, id)).next === 'again'; tries++)
      if (tries > 200) throw new Error(`${name} never ends`)
}

const operation = async (id = OPERATION) =>
  (await set.at('west').ports.store.read([key('operation', id)]))[0]?.data ?? expect.fail()

/** Checks that west has taken over once with all acknowledged writes, and that east is its former primary. */
async function tookOver(acknowledged: readonly string[]): Promise<void> {
  expect([await doing.health('east'), await doing.health('west')]).toEqual([472, 200])
  expect(await operation()).toMatchObject({
    status: 'done',
    promotion: { takenOver: { epoch: expect.stringMatching(/^000002\./) } },
  })
  const record = await set.at('west').record()
  expect(record).toMatchObject({ mode: 'primary', promotions: 1 })
  expect(record).not.toHaveProperty('operation')
  expect(await doing.policies('west')).toEqual(expect.arrayContaining(['before', ...acknowledged]))
  expect((await doing.write('west', 'after')).status).toBe(204)
  const { kept, right } = await set.everything('west')
  expect(kept).toEqual(right)
}

describe('a promotion', () => {
  test('whose processes die one after another, each process one call later, takes over exactly once', async () => {
    await begun()
    const acknowledged: string[] = []
    let deaths = 0
    for (let at = 1, died = true; died; at++)
      for (const when of ['before', 'after'] as const) {
        if (deaths % 5 === 0 && (await doing.write('east', `w${deaths}`)).status === 204)
          acknowledged.push(`w${deaths}`)
        const { watched } = crashes(at, when)
        died = await takeSteps(runOf(watched)).then(
          () => false,
          error => {
            if (!(error instanceof Crash)) throw error
            return true
          },
        )
        if (!died) break
        deaths += 1
        const modes = [await doing.health('east'), await doing.health('west')]
        expect(modes.filter(status => status === 200).length, `after ${deaths} deaths`).toBeLessThan(2)
      }
    expect(deaths).toBeGreaterThan(20)
    await tookOver(acknowledged)
  })

  test('run by several processes concurrently takes over once', async () => {
    await begun()
    await Promise.all([takeSteps(runOf()), takeSteps(runOf()), takeSteps(runOf())])
    await tookOver([])
  })

  test('whose process freezes before the take-over changes nothing when another process has taken over', async () => {
    await begun()
    let reached: () => void = () => undefined
    let thaw: () => void = () => undefined
    const there = new Promise<void>(resolve => {
      reached = resolve
    })
    const still = new Promise<void>(resolve => {
      thaw = resolve
    })
    const { journal } = set.at('west').ports
    const slow: typeof journal = {
      ...journal,
      transact: async elements => {
        if (elements.some(one => 'head' in one)) {
          reached()
          await still
        }
        return journal.transact(elements)
      },
    }
    const late = takeSteps(runOf(undefined, { journal: slow }))
    await there
    await takeSteps(runOf())
    const { epoch, last } = await set.at('west').head()
    set.pass(60_000)
    thaw()
    await late
    expect(await set.at('west').head()).toMatchObject({ epoch, last, mode: 'writing' })
    await tookOver([])
  })
})

describe('a failed promotion', () => {
  test('at any call before the handover leaves both clusters unchanged', async () => {
    for (let at = 1; at < 60; at += 4) {
      const id = OPERATION.replace(/1$/, String.fromCharCode(97 + (at >> 4)) + (at % 16).toString(16))
      await begun(id)
      const { watched } = crashes(at, 'after')
      const died = await operationWorkflows.promotion.steps.verify(runOf(watched), id).then(
        () => false,
        () => true,
      )
      await giveUpPromotion(runOf(), id, { code: 'internal', text: 'given up' })
      expect([await doing.health('east'), await doing.health('west')]).toEqual([200, 472])
      expect(await set.at('west').record()).not.toHaveProperty('operation')
      expect(await operation(id)).toMatchObject({ status: 'failed', fault: { text: 'given up' } })
      if (!died) return
    }
    expect.unreachable()
  })

  test('without a usable keyring is refused also with force', async () => {
    await begun()
    const { cipher } = set.at('west').as('on-operation')
    const closed = { ...cipher, decrypt: () => Promise.reject(new Error('KMS says no')) }
    const verdict = operationWorkflows.promotion.steps.verify(runOf(undefined, { cipher: closed }), OPERATION)
    await expect(verdict).rejects.toThrow(/keyring does not open.*force does not help/)
    await expect(verdict).rejects.toBeInstanceOf(OperationFailed)
    expect([await doing.health('east'), await doing.health('west')]).toEqual([200, 472])
    expect((await doing.write('east', 'still')).status).toBe(204)
  })
})
