import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import type { Reply } from '../../../support/service/api.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests what operators do: a switch of roles in either order and back, and recovery after a disaster.

type Name = 'east' | 'west'
const R = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
/** The policy of the token that is made on the primary beforehand. */
const HANDLER = ['promote', 'update-primary']
  .map(path => `path "sys/replication/dr/secondary/${path}" { capabilities = ["update"] }`)
  .join('\n')

interface Lost {
  name: string
  position: string
  changes: { kind: string; key: [string, string]; what: string; deleted?: true }[]
}

let set: ClusterSet
let operation: string

const post = (cluster: Name, path: string, body: object = {}): Promise<Reply> =>
  set.at(cluster).request('POST', `${R}/${path}`, body)
const operate = (cluster: Name, path: string, more: object = {}): Promise<Reply> =>
  set
    .at(cluster)
    .request('POST', `${R}/secondary/${path}`, { dr_operation_token: operation, ...more }, { token: '' })
const write = (cluster: Name, name: string): Promise<Reply> =>
  set.at(cluster).ok('POST', `/sys/policies/acl/${name}`, POLICY)
const health = async (cluster: Name): Promise<number> =>
  (await set.at(cluster).request('GET', '/sys/health')).status
const tokenOf = async (cluster: Name, id: string): Promise<string> =>
  (await set.at(cluster).ok('POST', `${R}/primary/secondary-token`, { id })).body.wrap_info.token

/** Returns since when both clusters have their roles, in epoch milliseconds. */
const roleBeginnings = (): Promise<number[]> =>
  Promise.all(
    NAMES.map(async name => Date.parse((await set.at(name).ok('GET', `${R}/status`)).body.data.role_since)),
  )

const NAMES: readonly [Name, Name] = ['east', 'west']

async function begun(): Promise<void> {
  set = await clusterSet(NAMES)
  await joined('east', 'west')
}

/** Makes one cluster primary and another cluster its secondary, and makes an operators' token. */
async function joined(primary: Name, secondary: Name): Promise<void> {
  await set.enable(primary)
  await set.join(secondary, primary)
  const { ok } = set.at(primary)
  await ok('POST', '/sys/policies/acl/dr-secondary-promotion', { policy: HANDLER })
  await ok('POST', '/auth/token/roles/failover-handler', {
    allowed_policies: 'dr-secondary-promotion',
    orphan: true,
    renewable: false,
    token_type: 'batch',
  })
  const { body } = await ok('POST', '/auth/token/create/failover-handler', { ttl: '8h' })
  operation = body.auth.client_token
  await set.converge()
}

async function areEqual(): Promise<void> {
  await set.converge()
  const [east, west] = [await set.everything('east'), await set.everything('west')]
  expect(west.items).toEqual(east.items)
  expect([east.kept, west.kept]).toEqual([east.right, west.right])
}

describe('a planned switch with one prepared token', () => {
  beforeAll(begun)

  test('demote, then promote: the new primary continues at the end of the old primary’s journal, and tokens stay valid', async () => {
    const { ok } = set.at('east')
    const made = await ok('POST', '/auth/token/create', { policies: ['default'], ttl: '1h', num_uses: 5 })
    const { client_token: token } = made.body.auth
    const lookUp = (cluster: Name) =>
      set.at(cluster).ok('GET', '/auth/token/lookup-self', undefined, { token })
    const before = (await lookUp('east')).body.data
    await set.converge()
    set.pass(5000)
    const switchedAt = set.clock.now()
    for (const since of await roleBeginnings()) expect(since).toBeLessThan(switchedAt - 1000)
    const demoted = await post('east', 'primary/demote')
    expect(demoted).toMatchObject({
      status: 200,
      body: { data: { final_wal: (await set.at('east').head()).last } },
    })
    expect([await health('east'), await health('west')]).toEqual([472, 472])
    expect(await operate('west', 'promote')).toMatchObject({ status: 200 })
    expect([await health('east'), await health('west')]).toEqual([472, 200])
    for (const since of await roleBeginnings()) expect(since).toBeGreaterThan(switchedAt - 1000)
    const after = (await lookUp('west')).body.data
    expect(after).toEqual({ ...before, num_uses: before.num_uses - 1, ttl: expect.any(Number) })
    expect((await set.at('west').head()).lineage.at(-1)?.[1]).toBe(demoted.body.data.final_wal + 1)
  })

  test('the old primary follows the new primary by a token, without a wipe or a second fetch of all items', async () => {
    await write('west', 'after')
    const { treeId } = await set.at('east').record()
    const { incarnation } = await set.at('east').head()
    const reply = await operate('east', 'update-primary', { token: await tokenOf('west', 'east') })
    expect(reply.status, reply.text).toBe(200)
    await areEqual()
    expect((await set.at('east').record()).treeId).toBe(treeId)
    expect((await set.at('east').head()).incarnation, 'no sync').toBe(incarnation + 1)
    expect((await set.at('east').request('GET', `${R}/divergence`)).body.data).toEqual({
      complete: true,
      waits_for: '',
      lost: [],
      next: '',
      diverging: [],
      counts: { commits: 0, kinds: {} },
    })
    expect((await post('east', 'primary/demote')).status, 'it follows again: no primary of any kind').toBe(
      400,
    )
  })

  test('promote, then demote: switches back, and the demotion finds the journal already ended', async () => {
    await write('west', 'last')
    expect(await operate('east', 'promote')).toMatchObject({ status: 200 })
    expect([await health('east'), await health('west')]).toEqual([200, 472])
    const demoted = await post('west', 'primary/demote')
    expect([demoted.status, demoted.body.warnings]).toEqual([
      200,
      [expect.stringContaining('already demoted, or has handed over')],
    ])
    expect(demoted.body.data).toEqual({
      final_wal: (await set.at('west').head()).last,
      epoch: (await set.at('west').record()).epoch,
    })
    await write('east', 'back')
    // otherwise the first run of the returning secondary would wait for the end of an earlier run
    for (const name of NAMES)
      expect(await set.at(name).ports.store.read([key('puller')]), name).toEqual([undefined])
    expect(await operate('west', 'update-primary', { token: await tokenOf('east', 'west') })).toMatchObject({
      status: 200,
    })
    await areEqual()
    for (const name of ['after', 'last', 'back'])
      expect((await set.at('east').request('GET', `/sys/policies/acl/${name}`)).status).toBe(200)
  })
})

/** Checks that the report is incomplete before the journals are compared, and that Retry-After is 2 s. */
async function seenIncomplete(stopsAt: ReturnType<ClusterSet['freezeAt']>[]): Promise<void> {
  for (const { reached, thaw } of stopsAt) {
    await reached
    const { headers, body } = await set.at('east').ok('GET', `${R}/divergence`)
    expect(body.data).toMatchObject({
      complete: false,
      waits_for: expect.stringMatching(/repeat the request/),
    })
    expect(headers['retry-after']).toBe('2')
    thaw()
  }
  await set.settled()
}

describe('after a disaster', () => {
  beforeEach(begun)

  test('the old primary ends its epoch by itself, follows the new primary, and reports its lost commits by commit and key', async () => {
    const secret = 'never-to-be-shown'
    await write('east', 'kept')
    await set.converge()
    set.cut('east', 'west')
    await write('east', 'lost')
    await set.at('east').ok('DELETE', '/sys/policies/acl/kept')
    await set.at('east').ok('POST', '/auth/cloud/config/client', { access_key: 'AKIA', secret_key: secret })
    const end = await set.at('east').head()
    expect(await operate('west', 'promote', { force: true })).toMatchObject({ status: 200 })
    await write('west', 'new')
    set.heal('east', 'west')
    set.pass(60_000)
    await set.tick()
    await set.tick()
    expect([await health('east'), await health('west')]).toEqual([472, 200])
    const unasked = await set.at('east').ok('GET', `${R}/divergence`)
    expect(unasked.body.data).toMatchObject({
      complete: false,
      waits_for: expect.stringMatching(/update-pri/),
    })
    // the process stops when it is about to compare the journals; the report is stored, and nothing is undone
    // yet
    const stopsAt = ['Heartbeat', 'Items'].map(step =>
      set.freezeAt({ cluster: 'east', process: 'on-pull', step, at: 1, when: 'before' }),
    )
    const reply = await operate('east', 'update-primary', { token: await tokenOf('west', 'east') })
    expect(reply.status, reply.text).toBe(200)
    await seenIncomplete(stopsAt)
    const told = await set.at('east').ok('GET', `${R}/divergence`)
    expect(told.body.data).toMatchObject({ complete: true, waits_for: '' })
    expect(told.headers).not.toHaveProperty('retry-after')
    await areEqual()
    expect((await set.at('east').ok('GET', `${R}/divergence`)).body.data).toEqual(told.body.data)
    expect(told.body.data.counts).toEqual({
      commits: 3,
      kinds: {
        policy: { written: 1, deleted: 1 },
        'client-config': { written: 1, deleted: 0 },
      },
    })

    const divergence = async (query = '', token = set.at('east').token()) =>
      set.at('east').request('GET', `${R}/divergence${query}`, undefined, { token })
    const { body } = await divergence()
    const lost: Lost[] = body.data.lost
    const keys = lost.flatMap(({ changes }) =>
      changes.map(({ kind, key: [, name], deleted }) => [kind, name, deleted]),
    )
    expect(keys).toEqual([
      ['policy', 'lost', undefined],
      ['policy', 'kept', true],
      ['client-config', 'client', undefined],
    ])
    expect(lost.flatMap(({ changes }) => changes.map(({ what }) => what))).toEqual([
      'policy lost',
      'policy kept',
      'client configuration of auth/cloud',
    ])
    expect(lost.at(-1)?.position).toMatch(new RegExp(`^${end.epoch}/`))
    expect(JSON.stringify(body)).not.toContain(secret)
    expect(body.data.next).toBe('')
    // reads the report in pages
    const names: string[] = []
    for (let after = ''; ; ) {
      const page = (await divergence(`?limit=1&after=${encodeURIComponent(after)}`)).body.data
      names.push(...page.lost.map(({ name }: { name: string }) => name))
      if (page.next === '') break
      after = page.next
    }
    expect(names).toEqual(lost.map(({ name }) => name))
    // a token reads the report only with a policy of the set that allows it
    const { body: made } = await set.at('west').ok('POST', '/auth/token/create', { policies: ['default'] })
    await set.converge()
    expect((await divergence('', made.auth.client_token)).status).toBe(403)
    expect((await divergence('', '')).status).toBe(403)
    expect((await divergence('?limit=-1')).status).toBe(200)
  })
})

test('a cluster that handed over and is promoted by force, before that cluster reaches its successor, wins over the successor', async () => {
  set = await clusterSet(NAMES)
  // otherwise two epochs with one number would be ordered by the IDs of their clusters
  const [east, west] = await Promise.all(NAMES.map(async name => (await set.at(name).record()).id.slice(-12)))
  const [first, successor]: readonly [Name, Name] = (east ?? '') < (west ?? '') ? NAMES : ['west', 'east']
  await joined(first, successor)
  expect(await operate(successor, 'promote')).toMatchObject({ status: 200 })
  await write(successor, 'of-the-successor')
  set.cut('east', 'west')
  expect(await operate(first, 'promote', { force: true })).toMatchObject({ status: 200 })
  await write(first, 'after-the-disaster')
  set.heal('east', 'west')
  set.pass(60_000)
  await set.tick()
  await set.tick()
  expect([await health(first), await health(successor)]).toEqual([200, 472])
  expect(
    await operate(successor, 'update-primary', { token: await tokenOf(first, successor) }),
  ).toMatchObject({
    status: 200,
  })
  await areEqual()
  expect((await set.at(first).request('GET', '/sys/policies/acl/after-the-disaster')).status).toBe(200)
  const { lost } = (await set.at(successor).request('GET', `${R}/divergence`)).body.data as { lost: Lost[] }
  expect(lost.flatMap(({ changes }) => changes.map(({ key: [, name] }) => name))).toContain(
    'of-the-successor',
  )
})
