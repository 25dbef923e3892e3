import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import type { Reply } from '../../../support/service/api.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// An operation that waits for another cluster ends as soon as it cannot succeed, or when an administrator replaces it.

const R = '/sys/replication/dr'

let from: Warm
let set: ClusterSet

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})
beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
})

const asked = (name: string, path: string, body: object = {}): Promise<Reply> =>
  set.at(name).request('POST', `${R}/secondary/${path}`, { dr_operation_token: from.operator, ...body })
const health = async (name: string) => (await set.at(name).request('GET', '/sys/health')).status
const write = (name: string, policy: string) =>
  set.at(name).ok('POST', `/sys/policies/acl/${policy}`, { policy: 'path "a" {}' })
const activation = async (primary: string): Promise<string> =>
  (await set.at(primary).ok('POST', `${R}/primary/secondary-token`, { id: 'again' })).body.wrap_info.token
const operationOf = async (id = '') =>
  (await set.at('west').ports.store.read([key('operation', id)]))[0]?.data ?? expect.fail()

/**
 * Lets west wait for the rest of the journal that its primary handed over, while west gets no answer any
 * more. @returns the operation of west
 */
async function waitsInDrain(): Promise<{ promoted: Promise<Reply>; operation: string }> {
  await write('east', 'rest')
  // the puller that the promotion starts dies
  set.trap({ cluster: 'west', process: 'on-pull', step: 'Heartbeat', at: 1, when: 'before', does: 'dies' })
  const handedOver = new Promise<void>(struck => {
    set.trap({
      cluster: 'west',
      process: 'on-operation',
      step: 'Handover to',
      at: 1,
      when: 'after',
      does: 0,
      struck: () => {
        set.cut('east', 'west')
        struck()
      },
    })
  })
  const promoted = asked('west', 'promote')
  await handedOver
  await set.clock.sleep(2000)
  const { operation = '' } = await set.at('west').record()
  expect(await operationOf(operation)).toMatchObject({ status: 'running', step: 'drain' })
  return { promoted, operation }
}

/** Checks that no operation waits, and that west follows east with all its items. */
async function followsEast(): Promise<void> {
  expect((await set.at('west').request('POST', `${R}/secondary/generate-public-key`)).status).toBe(200)
  const reply = await asked('west', 'update-primary', { token: await activation('east') })
  expect(reply.status, reply.text).toBe(200)
  await write('east', 'after')
  await set.converge()
  expect(await set.everything('west')).toEqual(await set.everything('east'))
}

describe('a successor whose old primary was promoted again', () => {
  test('learns immediately that another epoch has begun, and follows that epoch', async () => {
    const { operation } = await waitsInDrain()
    expect((await asked('east', 'promote', { force: true })).status).toBe(200)
    expect(await health('east')).toBe(200)
    set.heal('east', 'west')
    const healed = set.clock.now()
    while ((await operationOf(operation)).status === 'running') await set.clock.sleep(100)
    expect(set.clock.now() - healed).toBeLessThanOrEqual(1000)
    const { fault } = await operationOf(operation)
    expect(fault?.code).toBe('passed_over')
    expect(fault?.text).toMatch(/another epoch.*admitted before this cluster became primary again/)
    expect(fault?.text).not.toMatch(/promote the old primary again/)
    expect((await set.at('west').head()).mode).toBe('applying')
    await followsEast()
  })

  test('learns of the other epoch by the answer to its own pending call', async () => {
    const { promoted } = await waitsInDrain()
    await asked('east', 'promote', { force: true })
    set.heal('east', 'west')
    const reply = await promoted
    expect(reply.status).toBe(503)
    expect(reply.text).toMatch(/another epoch.*; have this cluster follow the primary.*update-primary/)
    const again = await asked('west', 'promote')
    expect(again.status).toBe(503)
    expect(again.text).toMatch(/refuses this cluster.*admitted before this cluster became primary again/)
    await followsEast()
  })

  test('with force continues without the missing entries, in an epoch above the unknown epoch', async () => {
    set.recording.allowTwo('east')
    await write('east', 'rest')
    set.trap({ cluster: 'west', process: 'on-pull', step: 'Heartbeat', at: 1, when: 'before', does: 'dies' })
    const begun = set.clock.now()
    set.trap({
      cluster: 'west',
      process: 'on-operation',
      step: 'Handover to',
      at: 1,
      when: 'after',
      does: 3000,
      struck: () => set.start(() => asked('east', 'promote', { force: true })),
    })
    const reply = await asked('west', 'promote', { force: true })
    expect(reply.status, reply.text).toBe(200)
    expect(reply.text).toMatch(/the last \d+ positions of the primary’s journal did not arrive/)
    expect(set.clock.now() - begun).toBeLessThanOrEqual(15_000)
  })
})

describe('a promotion that waits for a silent primary', () => {
  test('is replaced by an update of the primary with any operation token', async () => {
    const { promoted, operation } = await waitsInDrain()
    const begun = set.clock.now()
    expect((await asked('west', 'update-primary', { dr_operation_token: 'another', token: '' })).status).toBe(
      403,
    )
    const reply = await asked('west', 'update-primary', { token: '' })
    expect(reply.status, reply.text).toBe(200)
    expect(set.clock.now() - begun).toBeLessThanOrEqual(2000)
    expect((await promoted).text).toMatch(
      /another operation has replaced this operation: update-primary; GET/,
    )
    expect(await operationOf(operation)).toMatchObject({ status: 'failed' })
    await set.settled()
    expect((await set.at('west').head()).mode).toBe('applying')
    expect((await set.at('west').request('POST', `${R}/secondary/generate-public-key`)).status).toBe(200)
  })

  test('is replaced by a forced promotion, which warns of the missing positions', async () => {
    const { promoted } = await waitsInDrain()
    set.recording.allowTwo('east')
    const begun = set.clock.now()
    const reply = await asked('west', 'promote', { force: true })
    expect(reply.status, reply.text).toBe(200)
    expect(reply.text).toMatch(/the last \d+ positions of the primary’s journal did not arrive/)
    expect(set.clock.now() - begun).toBeLessThanOrEqual(15_000)
    const passedOver = await promoted
    expect(passedOver.text).toMatch(/another operation has replaced this operation: promotion; GET/)
    expect(passedOver.headers).not.toHaveProperty('retry-after')
    expect(await health('west')).toBe(200)
    expect((await set.at('west').record()).promotions).toBe(1)
  })

  test('is replaced by secondary/disable', async () => {
    await waitsInDrain()
    const reply = await asked('west', 'disable')
    expect(reply.status, reply.text).toBe(200)
    await set.settled()
    expect(await health('west')).toBe(200)
    expect(await set.at('west').record()).toMatchObject({ mode: 'disabled' })
  })

  test('is joined by the same request, whose answer says how to replace the promotion', async () => {
    const { promoted } = await waitsInDrain()
    const joined = await asked('west', 'promote')
    expect(joined.status).toBe(503)
    expect(joined.text).toMatch(
      /at the step drain.*update-primary, or a promotion with force, replaces the operation/,
    )
    set.heal('east', 'west')
    await promoted
    await set.settled()
    expect([await health('east'), await health('west')]).toEqual([472, 200])
  })
})
