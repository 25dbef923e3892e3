import { beforeAll, expect, test } from 'vitest'
import { invariants } from '../../../support/set/checks/all.ts'
import { violationsIn } from '../../../support/set/history.ts'
import { NAMES, type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Three disconnected clusters, two of which are promoted by force.

const R = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }

let from: Warm
let set: ClusterSet

beforeAll(async () => {
  from = await warmSnapshot({ memory: true })
})

const asked = (name: string, path: string, body: object = {}) =>
  set.at(name).request('POST', `${R}/${path}`, { dr_operation_token: from.operator, ...body })
const write = async (name: string, policy: string): Promise<void> =>
  void (await set.at(name).ok('POST', `/sys/policies/acl/${policy}`, POLICY))
const health = async (name: string) => (await set.at(name).request('GET', '/sys/health')).status
const statusOf = async (name: string) => (await set.at(name).ok('GET', `${R}/status`)).body.data

/** Returns the names of the policies that a cluster's report lists as lost. */
async function lostAt(name: string): Promise<string[]> {
  const { body } = await set.at(name).ok('GET', `${R}/divergence`)
  const lost: { changes: { kind: string; key: [string, string] }[] }[] = body.data.lost
  return lost.flatMap(({ changes }) =>
    changes.filter(({ kind }) => kind === 'policy').map(({ key: [, policy] }) => policy),
  )
}

async function follow(name: string, primary: string): Promise<void> {
  const { body } = await set.at(primary).ok('POST', `${R}/primary/secondary-token`, { id: `${name}-again` })
  const reply = await asked(name, 'secondary/update-primary', { token: body.wrap_info.token })
  expect(reply.status, reply.text).toBe(200)
}

test('of two forced primaries one remains; the other forced primary and the old primary end their epochs, report lost commits, and get the same items', async () => {
  set = await clusterSet(NAMES, { from, memory: true, aws: true })
  set.recording.allowTwo('east')
  set.cut('east', 'west')
  set.cut('east', 'north')
  set.cut('west', 'north')
  await write('east', 'of-east-1')
  for (const name of ['west', 'north'])
    expect((await asked(name, 'secondary/promote', { force: true })).status).toBe(200)
  await set.settled()
  // all three clusters write, and none of them knows that the other clusters write
  const before: string[] = []
  for (const name of NAMES) {
    expect(await health(name)).toBe(200)
    await write(name, `of-${name}-2`)
    before.push((await set.at(name).head()).epoch)
  }
  expect(new Set(before).size).toBe(3)

  set.mend()
  for (let minutes = 0; minutes < 4; minutes++) {
    set.pass(60_000)
    await set.tick()
    await set.settled()
  }
  const winner = NAMES[before.indexOf([...before].sort().at(-1) ?? '')] ?? ''
  const [first, second] = NAMES.filter(name => name !== winner) as [string, string]
  expect([await health(winner), await health(first), await health(second)]).toEqual([200, 472, 472])
  expect((await statusOf(winner)).fences.map(({ result }: { result: string }) => result)).toEqual([
    'acknowledged',
    'acknowledged',
  ])
  for (const name of [first, second]) expect((await set.at(name).head()).mode).toBe('closed')

  await write(winner, 'after')
  await follow(first, winner)
  await follow(second, winner)
  await set.converge()
  set.recording.rest(NAMES)
  expect(violationsIn(set.recording.history, invariants)).toEqual([])

  const named: Record<string, string[]> = {
    [first]: [`of-${first}-2`],
    [second]: [`of-${second}-2`],
    east: ['of-east-1', 'of-east-2'],
  }
  for (const name of [first, second]) {
    expect(await lostAt(name)).toEqual(named[name])
    const { data } = (await set.at(winner).ok('LIST', '/sys/policies/acl')).body
    for (const policy of named[name] ?? []) expect(data.keys).not.toContain(policy)
    expect(data.keys).toEqual(expect.arrayContaining([`of-${winner}-2`, 'after']))
  }
  const [one, ...others] = await Promise.all(NAMES.map(set.everything))
  for (const other of others) expect(other).toEqual(one)
})
