import * as v from 'valibot'
import { beforeEach, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { drStatus } from '../../../support/set/dr-status.ts'
import { type promotions, readyToPromote } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import type { Spot } from '../../../support/set/traps.ts'

// Tests what the status shows of a role change: its step, the end of its wait, and why the last role change
// failed.

const R = '/sys/replication/dr'

let set: ClusterSet
let doing: ReturnType<typeof promotions>

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  doing = await readyToPromote(set)
})

const status = async (name: string) =>
  v.parse(drStatus, (await set.at(name).ok('GET', `${R}/status`, undefined, { token: '' })).body.data)

/** Returns the status while a worker is frozen before one of its calls. */
async function statusAt(name: string, spot: Partial<Spot>, begin: () => Promise<unknown>) {
  const { reached, thaw } = set.freezeAt({ cluster: name, at: 1, when: 'before', ...spot })
  const begun = begin()
  await reached
  const shown = await status(name)
  thaw()
  return { shown, reply: await begun }
}

test('status shows a running promotion with its ID, step and start time, until the promotion ends', async () => {
  const since = set.clock.now()
  const { shown } = await statusAt('west', { process: 'on-operation', step: 'Handover' }, () =>
    doing.promote('west'),
  )
  expect(shown).toMatchObject({
    mode: 'secondary',
    operation: {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'promotion',
      step: 'handover',
      error: '',
    },
  })
  const begun = Date.parse(shown.operation?.since ?? '')
  expect(begun).toBeGreaterThanOrEqual(since - 1000)
  expect(begun).toBeLessThanOrEqual(set.clock.now())
  expect(await status('west')).not.toHaveProperty('operation')
  expect(await status('west')).not.toHaveProperty('last_error')
})

test('status shows a failed operation as the last error, with its text, until another operation succeeds', async () => {
  set.cut('east', 'west')
  const reply = await doing.promote('west')
  expect(reply.status).toBe(503)
  const { operation, last_error } = await status('west')
  expect(operation).toBeUndefined()
  expect(last_error?.operation).toMatchObject({ name: 'promotion', step: 'verify' })
  expect(reply.body.errors[0]).toContain(last_error?.text)
  await set.passAsking(75_000)
  expect(await doing.promote('west')).toMatchObject({ status: 200 })
  expect(await status('west')).not.toHaveProperty('last_error')
})

test('status shows a refusal by the primary as the last error until the primary answers', async () => {
  await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
  set.pass(60_000)
  await set.tick()
  expect((await status('west')).last_error).toMatchObject({ text: expect.stringMatching(/revoked/) })
})

test('status of a cluster before its wipe shows when the wipe begins', async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  const { body } = await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'west' })
  const enabled = set.at('west').ok('POST', `${R}/secondary/enable`, { token: body.wrap_info.token })
  const { shown } = await statusAt('west', { process: 'on-operation', step: 'Keyring' }, () => enabled)
  expect(shown).toMatchObject({ operation: { name: 'activation', step: 'wipe', waits_until: '' } })
  const { ports } = set.at('west')
  const [operation] = await ports.store.read([key('operation', shown.operation?.id ?? '')])
  expect(operation?.data.waitsUntil).toBe((operation?.data.changedAt ?? 0) + 30_000)
  await set.settled()
  expect(await status('west')).not.toHaveProperty('operation')
})
