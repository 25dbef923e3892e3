import { beforeAll, describe, expect, test } from 'vitest'
import { pullFromPrimary } from '../../../../shared/replication/secondary/pull.ts'
import { type promotions, readyToPromote } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests where clients and monitors get equal answers from a primary and a secondary.

const R = '/sys/replication/dr'

let set: ClusterSet
let doing: ReturnType<typeof promotions>

beforeAll(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  doing = await readyToPromote(set)
})

const anonymous = async (name: string, method: string, path: string) => {
  const { status, text } = await set.at(name).request(method, path, undefined, { token: '' })
  return [status, method === 'HEAD' ? '' : text]
}

test.each(['east', 'west'])('a wrong method on %s is answered with 405 before authentication', async name => {
  const unsupported = [405, '{"errors":["unsupported operation"]}']
  for (const [method, path] of [
    ['GET', `${R}/primary/demote`],
    ['DELETE', `${R}/secondary/generate-public-key`],
    ['GET', `${R}/secondary/promote`],
    ['POST', `${R}/status`],
    ['POST', '/sys/health'],
  ] as const)
    if (name === 'east' || !path.includes('primary/'))
      expect([path, ...(await anonymous(name, method, path))]).toEqual([path, ...unsupported])
  // the answer does not reveal who may call
  expect((await set.at(name).request('DELETE', `${R}/readiness`)).status).toBe(405)
})

test('HEAD gets the same status on primary and secondary', async () => {
  const paths = [
    '/sys/health',
    '/sys/seal-status',
    '/sys/leader',
    '/sys/init',
    `${R}/status`,
    '/sys/replication/status',
    `${R}/readiness`,
    `${R}/secondary/promote`,
  ]
  const of = (name: string) => Promise.all(paths.map(async path => (await anonymous(name, 'HEAD', path))[0]))
  expect(await of('east')).toEqual([200, ...Array(7).fill(405)])
  expect(await of('west')).toEqual([472, ...Array(7).fill(405)])
})

test.each([true, 5, 'https:///x', 'true'])(
  'the address %j is rejected, and nothing changes',
  async address => {
    const before = await set.at('east').record()
    const body = { primary_cluster_addr: address }
    const reply = await set.at('east').request('POST', `${R}/primary/enable`, body)
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('must be an https address')])
    expect(await set.at('east').record()).toEqual(before)
  },
)

const status = async (name: string) => (await set.at(name).ok('GET', `${R}/status`)).body.data

describe('the journal in status', () => {
  test('of a secondary is never ahead of the journal in the primary’s status', async () => {
    for (let round = 0; round < 3; round++) {
      await doing.write('east', `round-${round}`)
      await set.at('west').pull()
      const has = (await status('west')).last_remote_wal
      expect(has).toBe((await set.at('east').head()).last)
      expect((await status('east')).last_dr_wal).toBeGreaterThanOrEqual(has)
    }
  })

  test('shows the canary age of the newest entry, which may have arrived after the last heartbeat', async () => {
    const { ports, connect } = set.at('west')
    const pulling = pullFromPrimary(ports, connect, { deadline: set.clock.now() + 9000 })
    await set.clock.sleep(6000)
    await doing.write('east', 'amid-a-run')
    await pulling
    const [{ replication_primary_canary_age_ms: shown, last_heartbeat }] = (await status('west')).primaries
    const age = Number(shown)
    expect(set.clock.now() - Date.parse(last_heartbeat), 'heard before').toBeGreaterThan(6000)
    expect(age).toBeLessThan(4000)
    expect((await set.at('west').request('GET', '/sys/health')).body).toMatchObject({
      replication_primary_canary_age_ms: age,
    })
  })

  test('shows API address and link address separately on primary and secondary', async () => {
    const [east, west] = [set.at('east'), set.at('west')]
    for (const { ports, name } of [east, west])
      ports.deployment = { ...ports.deployment, apiAddress: `https://api.${name}.example` }
    await east.ok('POST', `${R}/primary/enable`, { primary_cluster_addr: east.address })
    west.ports.deployment = { ...west.ports.deployment, linkAddress: west.address }
    set.pass(10_000)
    await west.pull()
    const [primary] = (await status('west')).primaries
    expect(primary).toMatchObject({ api_address: 'https://api.east.example', cluster_address: east.address })
    const [secondary] = (await status('east')).secondaries
    expect(secondary).toMatchObject({
      api_address: 'https://api.west.example',
      cluster_address: west.address,
    })
    for (const { ports, address } of [east, west])
      ports.deployment = { ...ports.deployment, apiAddress: address, linkAddress: '' }
    await east.ok('POST', `${R}/primary/enable`, { primary_cluster_addr: '' })
  })

  test('shows all times, also on a secondary without a primary', async () => {
    expect(await status('west')).toMatchObject({
      last_start: expect.stringMatching(/^\d{4}-/),
      last_reindex_epoch: expect.stringMatching(/^\d+$/),
    })
  })
})

describe('status of a secondary that takes over', () => {
  test('shows the address that the administrator configured, or an empty address', async () => {
    expect((await status('east')).primary_cluster_addr).toBe('')
    expect((await doing.promote('west')).status).toBe(200)
    await set.settled()
    expect((await status('west')).primary_cluster_addr).toBe('')
    const leads = (await set.at('west').ok('GET', '/sys/leader')).body
    expect(leads.leader_cluster_address).toBe(set.at('west').address)
    const link = { primary_cluster_addr: 'https://link.example' }
    const home = { primary_cluster_addr: '' }
    await set.at('west').ok('POST', `${R}/primary/enable`, link)
    expect((await status('west')).primary_cluster_addr).toBe('https://link.example')
    expect((await set.at('west').ok('GET', '/sys/leader')).body).toMatchObject({
      leader_address: set.at('west').address,
      leader_cluster_address: 'https://link.example',
    })
    await set.at('west').ok('POST', `${R}/primary/enable`, home)
    expect((await status('west')).primary_cluster_addr).toBe('')
  })

  test('shows a generation counter that grows with each promotion, equal on primary and secondary', async () => {
    const { ssct_generation_counter: before } = await status('west')
    expect(before).toBe(1)
    await doing.follow('east', 'west', 'east')
    await set.converge()
    expect((await status('east')).ssct_generation_counter).toBe(1)
    expect((await doing.promote('east')).status).toBe(200)
    expect((await status('east')).ssct_generation_counter).toBe(2)
  })
})
