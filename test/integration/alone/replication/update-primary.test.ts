import * as v from 'valibot'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../../support/service/api.ts'
import { drStatus } from '../../../support/set/dr-status.ts'
import { storeOperationToken, OPERATION_TOKEN as TOKEN } from '../../../support/set/operation-token.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
const R = '/sys/replication/dr'

let set: ClusterSet
let names = 0

beforeAll(async () => {
  set = await clusterSet(['east', 'west', 'south'], { memory: true })
  await set.enable('east')
  await set.enable('south')
  await set.join('west', 'east')
  await storeOperationToken(set.at('west'))
})

const write = (cluster: string): Promise<Reply> =>
  set.at(cluster).ok('POST', `/sys/policies/acl/p${names++}`, POLICY)
const update = (given: object): Promise<Reply> =>
  set.at('west').request('POST', `${R}/secondary/update-primary`, { dr_operation_token: TOKEN, ...given })
const tokenOf = async (cluster: string): Promise<string> => {
  const { body } = await set.at(cluster).ok('POST', `${R}/primary/secondary-token`, { id: `w${names++}` })
  return body.wrap_info.token
}
const status = async () => {
  const { body } = await set.at('west').ok('GET', `${R}/status`, undefined, { token: '' })
  return v.parse(drStatus, body.data)
}
/** Returns the state that a refused update must not change. */
const standing = async () => {
  const { link } = await set.at('west').record()
  return { link, named: (await set.at('west').head()).link }
}

async function follows(): Promise<void> {
  await write('east')
  await set.converge('west')
  expect((await set.everything('west')).items).toEqual((await set.everything('east')).items)
}

describe('update-primary with an empty token', () => {
  test('makes the secondary idle without calls, keeps its items, and works while the primary is down', async () => {
    await follows()
    const before = await set.everything('west')
    set.cut('east', 'west')
    const reply = await update({ token: '' })
    expect([reply.status, reply.body.data, reply.body.warnings]).toEqual([
      200,
      null,
      [expect.stringContaining('follows no primary any more')],
    ])
    set.heal('east', 'west')
    await write('east')
    await set.settled()
    const calls = set.net.calls.length
    for (let n = 0; n < 3; n++) await set.tick()
    expect(set.net.calls.slice(calls).filter(({ from }) => from === 'west')).toEqual([])
    expect((await set.everything('west')).items).toEqual(before.items)
    expect(await status()).toMatchObject({
      mode: 'secondary',
      state: 'idle',
      connection_state: 'idle',
      secondary_id: '',
      primary_cluster_addr: '',
      known_primary_cluster_addrs: [],
      primaries: [],
      last_remote_wal: 0,
    })
    expect(await set.at('west').head()).toMatchObject({ mode: 'applying' })
  })

  test('removes the credentials; a later update-primary with addresses alone is refused', async () => {
    const { status: code, body } = await update({ update_primary_addrs: [set.at('east').address] })
    expect([code, body.errors]).toEqual([400, [expect.stringMatching(/no credentials .* use a token/)]])
  })

  test('can be followed by an update with a token, without a wipe', async () => {
    const { treeId, set: of } = await set.at('west').record()
    const reply = await update({ token: await tokenOf('east') })
    expect([reply.status, reply.body.warnings]).toEqual([200, [expect.stringContaining('keeps its items')]])
    await follows()
    expect(await set.at('west').record()).toMatchObject({ treeId, set: of })
    expect(await status()).toMatchObject({ state: 'stream-wals', connection_state: 'ready' })
  })

  test('rejects late writes of the old link', async () => {
    await follows()
    await write('east')
    const { reached, thaw } = set.freezeAt({
      cluster: 'west',
      process: 'on-pull',
      step: 'Entries',
      at: 1,
      when: 'after',
    })
    const pulled = set.tick()
    await reached
    const { last } = await set.at('west').head()
    expect((await update({ token: '' })).status).toBe(200)
    thaw()
    await pulled
    await set.settled()
    expect(await set.at('west').head()).toMatchObject({ last, applied: last, mode: 'applying' })
    expect((await update({ token: await tokenOf('east') })).status).toBe(200)
    await follows()
  })
})

describe('update-primary with addresses', () => {
  test('calls each address in turn, and uses the first address that answers as the primary of its set', async () => {
    const { link } = await set.at('west').record()
    const [east, south, west] = ['east', 'south', 'west'].map(name => set.at(name).address)
    const reply = await update({ update_primary_addrs: [south, west, 'https://nobody.test:1', east] })
    expect([reply.status, reply.body.warnings]).toEqual([
      200,
      [`the primary answered at ${east}, and this cluster follows that address from now on`],
    ])
    const now = await set.at('west').record()
    expect(now.link?.primaryAddrs[0]).toBe(east)
    for (const name of ['secondaryId', 'primaryKey', 'ownKey', 'primaryAddr'] as const)
      expect(now.link?.[name]).toBe(link?.[name])
    await follows()
  })

  test('reports for each address why its cluster is not the primary', async () => {
    const before = await standing()
    const [south, west] = ['south', 'west'].map(name => set.at(name).address)
    const { status: code, body } = await update({ update_primary_addrs: [south, west] })
    expect(code).toBe(400)
    expect(body.errors).toEqual([
      expect.stringMatching(
        `^no address answered as the primary of this set: ${south}: .+; ${west}: .+; nothing has changed on this cluster: after a fail-over`,
      ),
    ])
    expect(await standing()).toEqual(before)
    await follows()
  })
})

describe('a refused update keeps the link', () => {
  test.each<[name: string, token: () => Promise<string>, code: number, text: RegExp]>([
    ['a token of another set', () => tokenOf('south'), 400, /^token is of a different replication set; /],
    ['a malformed token', async () => 'x.y.z', 400, /^token is not an activation token for this cluster; /],
    [
      'a token that was revoked',
      async () => {
        const token = await tokenOf('east')
        await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: `w${names - 1}` })
        return token
      },
      400,
      /^error unwrapping the secondary token: .*revoked/,
    ],
  ])('%s', async (_, token, code, text) => {
    const before = await standing()
    const reply = await update({ token: await token() })
    expect([reply.status, reply.body.errors]).toEqual([code, [expect.stringMatching(text)]])
    expect(await standing()).toEqual(before)
    expect(await set.at('west').record()).not.toHaveProperty('operation')
    await follows()
  })

  test('only one of two concurrent updates begins a role change', async () => {
    const [one, other] = await Promise.all([update({ token: '' }), update({ token: await tokenOf('east') })])
    expect([one.status, other.status].sort()).toEqual([200, 503])
    await set.settled()
    expect((await update({ token: await tokenOf('east') })).status).toBe(200)
    await follows()
  })
})
