import { beforeEach, describe, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { accessorOfHash, tokenHashOf } from '../../../../shared/model/token.ts'
import { itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { sized } from '../../../support/runner/size.ts'
import type { Reply } from '../../../support/service/api.ts'
import { storeOperationToken, OPERATION_TOKEN as TOKEN } from '../../../support/set/operation-token.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import type { SetSnapshot } from '../../../support/set/snapshot.ts'
import type { WireItem } from '../../../support/tables/wire-values.ts'

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
const DISABLE = '/sys/replication/dr/secondary/disable'

let set: ClusterSet

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { memory: true })
  await set.enable('east')
  await set.join('west', 'east')
  await set.at('east').ok('POST', '/sys/policies/acl/shared', POLICY)
  await set.converge()
  await storeOperationToken(set.at('west'))
})

const disable = (): Promise<Reply> =>
  set.at('west').request('POST', DISABLE, { dr_operation_token: TOKEN }, { token: '' })

const batchToken = async (cluster: string): Promise<string> => {
  const { body } = await set
    .at(cluster)
    .ok('POST', '/auth/token/create', { type: 'batch', policies: ['default'], ttl: '1h' })
  return body.auth.client_token
}
const isGoodAt = async (cluster: string, token: string): Promise<boolean> =>
  (await set.at(cluster).request('GET', '/auth/token/lookup-self', undefined, { token })).status === 200

/** Checks that west serves by itself, without any item of the set. */
async function isAlone(): Promise<void> {
  const { ports, record, request, ok } = set.at('west')
  const now = await record()
  expect(now).toMatchObject({ mode: 'disabled', term: 2 })
  for (const gone of ['set', 'link', 'treeId', 'epoch', 'operation', 'treeComplete'])
    expect(now).not.toHaveProperty(gone)
  expect((await request('GET', '/sys/health')).status).toBe(200)
  expect((await ok('GET', '/sys/policies/acl/shared')).body.data.name).toBe('shared')
  await ok('POST', '/sys/policies/acl/shared', POLICY)
  await ok('POST', '/sys/policies/acl/own', POLICY)
  const lists = [itemPartitions('member'), itemPartitions('secondary')] as const
  for (const where of lists) expect(await ports.store.list<'member' | 'secondary'>(where)).toEqual([])
  const left = [key('contact'), key('puller'), key('pending-key'), key('token-key'), key('operation-token')]
  expect(await ports.store.read(left)).toEqual(left.map(() => undefined))
  await set.settled()
  const { items } = await ports.journal.scan({ index: 0, of: 1 })
  expect(items.filter(({ pos, leaf, bucket }) => pos ?? leaf ?? bucket)).toEqual([])
}

describe('a secondary that leaves its set', () => {
  test('serves clients with all its items, deletes the data about its set, and makes batch tokens that no other cluster accepts', async () => {
    const before = await batchToken('east')
    const reply = await disable()
    expect([reply.status, reply.body.data]).toEqual([200, null])
    expect(reply.body.warnings).toEqual([
      expect.stringContaining('left its set'),
      expect.stringContaining('both clusters hold the same tokens'),
    ])
    await isAlone()
    const [east, west] = [await batchToken('east'), await batchToken('west')]
    expect([await isGoodAt('west', before), await isGoodAt('west', west)]).toEqual([true, true])
    expect(await isGoodAt('east', west), 'the twin does not open it').toBe(false)
    expect(await isGoodAt('east', east)).toBe(true)
    expect((await disable()).status, 'void, and no secondary any more').toBe(400)
    expect(set.at('west').audited).toContainEqual(expect.objectContaining({ event: 'secondary-disabled' }))
  })

  test('warns if its copy is incomplete, and rejects late writes of a sync', async () => {
    const { ports, head } = set.at('west')
    await ports.journal.moveHead(headMoves.beginSync(await head(), 'all'))
    await set.at('east').ok('POST', '/sys/policies/acl/late', POLICY)
    const { reached, thaw } = set.freezeAt({
      cluster: 'west',
      process: 'on-pull',
      step: 'Scan',
      at: 1,
      when: 'after',
    })
    set.pass(30_000)
    const pulled = set.tick()
    await reached
    const reply = await disable()
    expect([reply.status, reply.body.warnings[2]]).toEqual([200, expect.stringContaining('incomplete')])
    await set.at('west').ok('DELETE', '/sys/policies/acl/shared')
    await set.at('west').ok('POST', '/sys/policies/acl/shared', POLICY)
    // another segment of the sync may have fetched the item before
    const late = async () => (await set.at('west').request('GET', '/sys/policies/acl/late')).status
    const before = await late()
    thaw()
    await pulled
    await isAlone()
    expect(await late()).toBe(before)
  })

  test('can begin a set of its own, or join another set after a wipe', async () => {
    const { set: before } = await set.at('east').record()
    expect((await disable()).status).toBe(200)
    await set.settled()
    await set.enable('west')
    expect((await set.at('west').record()).set).not.toBe(before)
    const { kept, right } = await set.everything('west')
    expect(kept).toEqual(right)
    await set.at('west').ok('POST', '/sys/replication/dr/primary/disable')
    await set.settled()
    // west's keys are deleted, so west cannot prove that it was this member: the administrator states that it
    // left
    await set.at('east').ok('POST', '/sys/replication/dr/primary/revoke-secondary', { id: 'west' })
    await set.join('west', 'east', 'again')
    await set.converge()
    expect((await set.everything('west')).items).toEqual((await set.everything('east')).items)
  })
})

test('a failed cleanup step after a cluster has left its set is logged, and repeated until the step succeeds', async () => {
  const { ports, told } = set.at('west')
  const { background } = ports
  const start = () =>
    Promise.reject(Object.assign(new Error('not for you'), { name: 'AccessDeniedException' }))
  ports.background = { start }
  const reply = await disable()
  // the cluster has left and serves, so the caller does not wait for the background work
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
  const { mode, operation = '' } = await set.at('west').record()
  expect(mode).toBe('disabled')
  const [item] = await ports.store.read([key('operation', operation)])
  expect(item?.data).toMatchObject({
    status: 'running',
    fault: {
      text: expect.stringMatching(
        /^the step forget failed in every attempt: the IAM role of the step’s function lacks a permission/,
      ),
    },
  })
  expect(told.filter(({ level }) => level === 'error')).toContainEqual({
    at: expect.any(Number),
    level: 'error',
    message: 'step failed',
    fields: {
      workflow: 'disable',
      operation,
      step: 'forget',
      error: 'AccessDeniedException',
      reason: ['not for you'],
    },
    measures: {},
  })
  ports.background = background
  set.pass(60_000)
  await set.tick()
  await set.settled()
  await isAlone()
})

/** Number of tokens that end at once. `TOKENS=1000 npm run test:long -- disable` uses fewer. */
const TOKENS = Number(process.env['TOKENS'] ?? sized(60, 100_000))

/**
 * Returns a snapshot in which each cluster has the item of a token many times, although only one cluster
 * issued the token.
 */
function crowded(snapshot: SetSnapshot, token: string): SetSnapshot {
  const accessor = accessorOfHash(tokenHashOf(token))
  const copies = (items: readonly WireItem[]): WireItem[] => {
    const one = items.find(item => JSON.stringify([item['pk'], item['sk']]).includes(accessor))
    if (!one) throw new Error('the token is not there')
    const text = JSON.stringify(one)
    return Array.from({ length: TOKENS - 1 }, (_, index) =>
      JSON.parse(text.replaceAll(accessor, accessorOfHash(`copy ${index}`))),
    )
  }
  return {
    ...snapshot,
    members: snapshot.members.map(one => ({
      ...one,
      items: { ...one.items, data: [...one.items.data, ...copies(one.items.data)] },
    })),
  }
}

/** Returns the median duration of some work, milliseconds. */
async function timeOf(work: () => Promise<unknown>, times = sized(1, 400)): Promise<number> {
  const took: number[] = []
  while (took.length < times) {
    const began = performance.now()
    await work()
    took.push(performance.now() - began)
  }
  return took.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0
}

test.each<[how: string, path: string]>([
  ['left its set', 'disable'],
  ['taken over', 'promote'],
])(
  'many tokens end at once on a cluster that has %s: a login writes and costs no more than before',
  async (_, path) => {
    const make = (cluster: string, ttl: string) =>
      set.at(cluster).ok('POST', '/auth/token/create', { policies: ['default'], ttl })
    const first: string = (await make('east', '10m')).body.auth.client_token
    await set.converge()
    set = await clusterSet(['east', 'west'], { from: crowded(await set.snapshot(), first), memory: true })
    const body = { dr_operation_token: TOKEN }
    const reply = await set
      .at('west')
      .request('POST', `/sys/replication/dr/secondary/${path}`, body, { token: '' })
    expect(reply.status, reply.text).toBe(200)
    await set.settled()
    const { history } = set.recording
    const writes = () =>
      history.filter(({ cluster, what }) => cluster === 'west' && what === 'written').length
    const costOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = writes()
      await work()
      return writes() - before
    }
    const login = () => make('west', '1h')
    expect(await isGoodAt('west', first)).toBe(true)
    // re-encryption, which begins half a minute after leaving, is over
    await set.tick()
    set.pass(40_000)
    await set.tick()
    await set.settled()
    const [before, idle] = [await costOf(login), await costOf(set.tick)]
    const took = await timeOf(login)
    set.pass(600_000)
    expect(await isGoodAt('west', first)).toBe(false)
    expect([await costOf(login), await costOf(set.tick)]).toEqual([before, idle])
    if (sized(true, false)) return
    const takes = await timeOf(login)
    process.stdout.write(
      `${TOKENS} tokens due: ${took.toFixed(2)} ms a login before, ${takes.toFixed(2)} ms then\n`,
    )
    expect(takes / took).toBeLessThan(1.2)
  },
)
