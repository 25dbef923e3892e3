import { beforeAll, describe, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'
import type { SetSnapshot } from '../../../support/set/snapshot.ts'

// Requests every workflow in every state of a cluster. The cluster must refuse the request, or the workflow
// must end.

const NAMES = ['east', 'west', 'north'] as const
const REPLICATION = '/sys/replication'
const DR = `${REPLICATION}/dr`
const MOST_MINUTES = 12

const secondary = async (set: ClusterSet): Promise<void> => {
  await set.enable('east')
  await set.join('west', 'east')
  await set.at('east').ok('POST', '/sys/policies/acl/before', { policy: 'path "a" {}' })
  await set.converge()
}
const operate = async (set: ClusterSet, path: string, body: object = {}): Promise<void> => {
  await promotions(set).giveToken('west')
  await set.at('west').ok('POST', `${DR}/secondary/${path}`, { ...body, dr_operation_token: OPERATION_TOKEN })
  await set.settled()
}

/** Brings west into each state, by the state's name. */
const states: Readonly<Record<string, (set: ClusterSet) => Promise<void>>> = {
  'in no set': async () => undefined,
  'a primary without secondaries': set => set.enable('west'),
  'a primary with one': async set => {
    await set.enable('west')
    await set.join('east', 'west')
    await set.converge()
  },
  'a secondary': secondary,
  'a secondary whose primary is not reached': async set => {
    await secondary(set)
    set.cut('east', 'west')
    set.pass(120_000)
  },
  'a secondary that is behind': async set => {
    await secondary(set)
    for (let index = 0; index < 30; index++)
      await set.at('east').ok('POST', `/sys/policies/acl/p${index}`, { policy: 'path "b" {}' })
  },
  'a secondary amid a sync': async set => {
    await secondary(set)
    const { journal } = set.at('west').ports
    await journal.moveHead(headMoves.beginSync(await set.at('west').head(), 'all'))
  },
  'a secondary that follows nobody': async set => {
    await secondary(set)
    await operate(set, 'update-primary', { token: '' })
  },
  'a secondary that was revoked': async set => {
    await secondary(set)
    await set.at('east').ok('POST', `${DR}/primary/revoke-secondary`, { id: 'west' })
    await set.settled()
  },
  'a primary that was demoted': async set => {
    await set.enable('west')
    await set.at('west').ok('POST', `${DR}/primary/demote`)
    await set.settled()
  },
  'a secondary that has taken over': async set => {
    await secondary(set)
    await operate(set, 'promote', { force: true })
  },
  'a secondary that has left its set': async set => {
    await secondary(set)
    await operate(set, 'disable')
  },
}

/** Returns the request that begins each workflow on west. */
const workflows: Readonly<Record<string, (set: ClusterSet) => Promise<[path: string, body: object]>>> = {
  activation: async set => [`${DR}/secondary/enable`, { token: await tokenOf(set) }],
  'merkle-check': async set => [`${treeOf(await isSecondary(set))}/merkle-check`, {}],
  reindex: async set => [`${treeOf(await isSecondary(set))}/reindex`, {}],
  demotion: async () => [`${DR}/primary/demote`, {}],
  promotion: async () => [`${DR}/secondary/promote`, {}],
  'promotion by force': async () => [`${DR}/secondary/promote`, { force: true }],
  'update-primary by token': async set => [`${DR}/secondary/update-primary`, { token: await tokenOf(set) }],
  'update-primary to nobody': async () => [`${DR}/secondary/update-primary`, { token: '' }],
  disable: async () => [`${DR}/secondary/disable`, {}],
}

const isSecondary = async (set: ClusterSet): Promise<boolean> =>
  (await set.at('west').record()).mode === 'secondary'
const treeOf = (onSecondary: boolean): string => (onSecondary ? `${DR}/secondary` : REPLICATION)

/** Returns an activation token of a possible primary of west. */
async function tokenOf(set: ClusterSet): Promise<string> {
  for (const name of ['east', 'north'] as const) {
    if ((await set.at(name).record()).mode === 'disabled') await set.enable(name)
    const reply = await set.at(name).request('POST', `${DR}/primary/secondary-token`, { id: 'west-again' })
    if (reply.status === 200) return reply.body.wrap_info.token
  }
  return 'none'
}

const snapshots = new Map<string, SetSnapshot>()
beforeAll(async () => {
  for (const [name, begin] of Object.entries(states)) {
    const set = await clusterSet(NAMES, { memory: true })
    await begin(set)
    await set.settled()
    snapshots.set(name, await set.snapshot())
  }
})

/** Waits until no change of the cluster's role is under way on west. */
async function ended(set: ClusterSet): Promise<void> {
  for (let minutes = 0; minutes < MOST_MINUTES; minutes++) {
    await set.settled()
    if ((await set.at('west').record()).operation === undefined) return
    set.pass(60_000)
    await set.tick()
  }
  throw new Error('the operation never ends')
}

describe.each(Object.keys(states))('on %s', state => {
  test.each(Object.keys(workflows))('%s is refused, or ends', async workflow => {
    const from = snapshots.get(state)
    if (!from) throw new Error(state)
    const set = await clusterSet(NAMES, { memory: true, from })
    if (state.includes('not reached')) set.cut('east', 'west')
    const west = set.at('west')
    if (await isSecondary(set)) await promotions(set).giveToken('west')
    const [path, body] = (await workflows[workflow]?.(set)) ?? []
    const reply = await west.request('POST', path ?? '', { ...body, dr_operation_token: OPERATION_TOKEN })
    await ended(set)
    const operations = await west.ports.store.list({ kind: 'operation', pks: [key('operation', '').pk] })
    expect(operations.filter(({ data }) => data.status === 'running')).toEqual([])
    // the log of requests also contains a line for each 503
    expect(west.told.filter(({ level, message }) => level === 'error' && message !== 'request')).toEqual([])
    expect([200, 204, 400, 503]).toContain(reply.status)
    if (reply.status >= 400) expect(reply.text, 'it says what to do next').toMatch(/; ./)
  })
})
