import { beforeEach, expect, test } from 'vitest'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// A cluster is revoked while it becomes a secondary. The primary's refusal is permanent.

const R = '/sys/replication/dr'

let set: ClusterSet
beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  await set.at('west').ok('POST', '/sys/policies/acl/old', { policy: 'path "old" {}' })
})

const tokenFor = async (id: string): Promise<string> =>
  (await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id })).body.wrap_info.token
const begin = async () =>
  set.at('west').ok('POST', `${R}/secondary/enable`, { token: await tokenFor('west') })
const revoke = () => set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
const statusOf = async (name: string) =>
  (await set.at(name).ok('GET', `${R}/status`, undefined, { token: '' })).body.data

test('a cluster that is revoked before its wipe keeps its role and its items, and serves', async () => {
  await begin()
  await revoke()
  await set.settled()
  expect(await set.at('west').record()).not.toHaveProperty('operation')
  expect(await statusOf('west')).toEqual({
    mode: 'disabled',
    last_error: {
      text: expect.stringContaining('was revoked'),
      time: expect.any(String),
      operation: { id: expect.any(String), name: 'activation', step: 'wipe' },
    },
  })
  const { keys } = (await set.at('west').ok('LIST', '/sys/policies/acl')).body.data
  expect(keys).toContain('old')
  // another activation token can make west a secondary
  await set.join('west', 'east', 'west-again')
  await set.converge()
  expect(await statusOf('west')).toMatchObject({ state: 'stream-wals', secondary_id: 'west-again' })
})

test('the activation of a secondary that is revoked during its first sync fails at once with the reason, and starts again with another token', async () => {
  const { reached, thaw } = set.freezeAt({
    cluster: 'west',
    process: 'on-operation',
    step: 'Scan to',
    at: 1,
    when: 'before',
  })
  await begin()
  await reached
  await revoke()
  thaw()
  const asked = () => set.net.calls.filter(({ from }) => from === 'west').length
  const before = asked()
  await set.settled()
  expect(asked() - before, 'it does not ask on in vain').toBeLessThan(40)
  expect(await set.at('west').record()).toMatchObject({ mode: 'secondary' })
  expect(await set.at('west').record()).not.toHaveProperty('operation')
  expect(await statusOf('west')).toMatchObject({
    state: 'idle',
    connection_state: 'transient_failure',
    activation_error:
      'the primary no longer admits this cluster, so the first sync was given up: west was revoked; give the calling cluster a new activation token by POST sys/replication/dr/secondary/update-primary',
  })
  await promotions(set).giveToken('west')
  const given = { dr_operation_token: OPERATION_TOKEN, token: await tokenFor('west-again') }
  await set.at('west').ok('POST', `${R}/secondary/update-primary`, given)
  await set.settled()
  await set.converge()
  const status = await statusOf('west')
  expect(status).toMatchObject({ state: 'stream-wals', secondary_id: 'west-again' })
  expect(status).not.toHaveProperty('activation_error')
  const [east, west] = await Promise.all(['east', 'west'].map(set.everything))
  expect([west?.items, west?.kept]).toEqual([east?.items, west?.right])
})
