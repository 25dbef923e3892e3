import { beforeAll, describe, expect, test } from 'vitest'
import { type promotions, readyToPromote } from '../../support/promotion.ts'
import { type ClusterSet, clusterSet } from '../../support/set.ts'

// What clients and monitors meet alike on a primary and on a secondary.

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

test.each(['east', 'west'])(
  'a wrong verb is told to anyone, before it is asked who that is: on %s',
  async name => {
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
    // who may call learns nothing else
    expect((await set.at(name).request('DELETE', `${R}/readiness`)).status).toBe(405)
  },
)

test('HEAD is answered, or refused, alike on both', async () => {
  const paths = [
    ...['/sys/health', '/sys/seal-status', '/sys/leader', '/sys/init'],
    ...[`${R}/status`, '/sys/replication/status', `${R}/readiness`, `${R}/secondary/promote`],
  ]
  const of = (name: string) => Promise.all(paths.map(async path => (await anonymous(name, 'HEAD', path))[0]))
  expect(await of('east')).toEqual([200, ...Array(7).fill(405)])
  expect(await of('west')).toEqual([472, ...Array(7).fill(405)])
})

test.each([true, 5, 'https:///x', 'true'])(
  'the address %j is refused, and changes nothing',
  async address => {
    const before = await set.at('east').record()
    const body = { primary_cluster_addr: address }
    const reply = await set.at('east').request('POST', `${R}/primary/enable`, body)
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('must be an https address')])
    expect(await set.at('east').record()).toEqual(before)
  },
)

describe('of a secondary that takes over', () => {
  const status = async (name: string) => (await set.at(name).ok('GET', `${R}/status`)).body.data

  test('the address is the override of an administrator, or empty', async () => {
    expect((await status('east')).primary_cluster_addr).toBe('')
    expect((await doing.promote('west')).status).toBe(200)
    await set.settled()
    expect((await status('west')).primary_cluster_addr).toBe('')
    const leads = (await set.at('west').ok('GET', '/sys/leader')).body
    expect(leads.leader_cluster_address).toBe(set.at('west').address)
    const link = { primary_cluster_addr: 'https://link.example' }
    await set.at('west').ok('POST', `${R}/primary/enable`, link)
    expect((await status('west')).primary_cluster_addr).toBe('https://link.example')
    expect((await set.at('west').ok('GET', '/sys/leader')).body).toMatchObject({
      leader_address: set.at('west').address,
      leader_cluster_address: 'https://link.example',
    })
  })
})
