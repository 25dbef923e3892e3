import { beforeEach, describe, expect, test } from 'vitest'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { itemPartitions, key } from '../../../../shared/storage/kinds.ts'
import { OPERATION_TOKEN } from '../../../support/set/operation-token.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Tests what each serving cluster knows about the members of the set: which clusters hold a key term, which
// clusters are revoked, and which clusters have acknowledged a revocation.

const R = '/sys/replication/dr'
const NAMES = ['east', 'west', 'north']

let from: Warm | undefined
let set: ClusterSet
let doing: ReturnType<typeof promotions>
let ids: Record<string, string>

beforeEach(async () => {
  from ??= await warmSnapshot({ memory: true, names: NAMES })
  set = await clusterSet(NAMES, { from, memory: true })
  doing = promotions(set)
  ids = Object.fromEntries(
    await Promise.all(NAMES.map(async name => [name, (await set.at(name).record()).id] as const)),
  )
  await set.converge()
})

const revoke = (name: string, more: object = {}) =>
  set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: name, ...more })
const rotate = (name: string, more: object = {}) => set.at(name).ok('POST', '/sys/rotate', more)

interface Shown {
  id: string
  number: number
  tokens_until?: string
  given_to: { cluster_id: string; name: string; revoked: boolean }[]
  acknowledged_by: string[]
  unacknowledged_by: string[]
}
/** Returns the key terms in the status, oldest first. */
async function termsAt(name: string): Promise<Shown[]> {
  const { body } = await set.at(name).ok('GET', `${R}/status`, undefined, { token: '' })
  return body.data.terms
}
/** Returns the clusters that hold each key term, from the status; `north!` means that north is revoked. */
const givenAt = async (name: string): Promise<string[][]> =>
  (await termsAt(name)).map(({ given_to }) =>
    given_to
      .map(({ cluster_id, revoked }) => {
        const known = NAMES.find(one => ids[one] === cluster_id) ?? cluster_id
        return revoked ? `${known}!` : known
      })
      .toSorted(),
  )

async function promoted(name: string, more: object = {}) {
  await doing.giveToken(name)
  const reply = await doing.promote(name, more)
  expect(reply.status, reply.text).toBe(200)
  await set.settled()
  return reply
}
async function follow(name: string, primary: string): Promise<void> {
  await doing.follow(name, primary)
  await set.converge(name)
}
/** Lets a secondary send a heartbeat while a request waits for the heartbeat. */
async function whilePulling<T>(name: string, request: Promise<T>): Promise<T> {
  for (let rounds = 0; rounds < 3; rounds++) {
    await set.clock.sleep(1000)
    await set.at(name).pull()
  }
  return request
}

describe('the revocation of a cluster', () => {
  test('is known to a later primary, and a new admission there ends the revocation', async () => {
    await revoke('north')
    await set.converge('west')
    await promoted('west')
    expect((await givenAt('west')).at(-1)).toContain('north!')
    // west knows that north is revoked although west never admitted it, and admits north with a new token
    await follow('north', 'west')
    expect((await givenAt('west')).at(-1)).toContain('north')
    const [holder] = await set.at('north').ports.store.read([key('holder', ids['north'] ?? '')])
    expect(holder?.data).not.toHaveProperty('revoked')
  })

  test('is refused by an ended journal', async () => {
    await set.at('east').ports.journal.moveHead(headMoves.close(await set.at('east').head(), '', 0))
    const reply = await set.at('east').request('POST', `${R}/primary/revoke-secondary`, { id: 'north' })
    expect(reply.status).toBe(503)
    const [holder] = await set.at('east').ports.store.read([key('holder', ids['north'] ?? '')])
    expect(holder?.data).not.toHaveProperty('revoked')
  })

  test('lost by a forced promotion is in the report, and the promotion warns of the lost revocation', async () => {
    set.cut('east', 'west')
    await revoke('north', { retire: true })
    set.pass(90_000)
    const { body } = await promoted('west', { force: true })
    expect(String(body.warnings)).toMatch(/revocations and retirements .* repeat them on this cluster/)
    expect((await givenAt('west'))[0]).toContain('north')
    set.heal('east', 'west')
    for (let minutes = 0; minutes < 3; minutes++) {
      set.pass(60_000)
      await set.tick()
      await set.settled()
    }
    await follow('east', 'west')
    const { body: report } = await set.at('east').ok('GET', `${R}/divergence`)
    const lost = report.data.lost.flatMap((one: { changes: { what: string }[] }) =>
      one.changes.map(({ what }) => what),
    )
    expect(lost).toEqual(
      expect.arrayContaining([
        `revocation of the cluster north (${ids['north']})`,
        'retirement of the term 1 of the keyring',
      ]),
    )
  })
})

describe('the clusters that hold a key term', () => {
  test('include every cluster that received the term; a revoked cluster receives no later term', async () => {
    expect(await givenAt('east')).toEqual([['north', 'west']])
    await revoke('north')
    await rotate('east')
    expect(await givenAt('east')).toEqual([['north!', 'west'], ['west']])
    await doing.follow('north', 'east', 'north-2')
    await set.converge()
    expect(await givenAt('east')).toEqual([
      ['north', 'west'],
      ['north', 'west'],
    ])
  })

  test('after a cluster leaves the set: the primary lists that cluster, and that cluster lists the others except for its own new term', async () => {
    await doing.giveToken('north')
    await set.at('north').ok('POST', `${R}/secondary/disable`, { dr_operation_token: OPERATION_TOKEN })
    await set.settled()
    expect(await givenAt('east')).toEqual([['north', 'west']])
    await set.enable('north')
    expect(await givenAt('north')).toEqual([['east', 'west'], []])
  })

  test('include a former primary that never returned, without later terms', async () => {
    set.cut('east', 'west')
    set.pass(90_000)
    await promoted('west', { force: true })
    await rotate('west')
    const [first, second] = await givenAt('west')
    expect([first, second]).toEqual([['east', 'north'], []])
  })
})

describe('the retirement of key terms', () => {
  test('lists which secondaries have acknowledged the retirement and which clusters hold the terms; status shows the retirement until all have acknowledged', async () => {
    set.cut('east', 'north')
    const { body } = await whilePulling('west', rotate('east', { retire: true }))
    const warnings = body.warnings.join('\n')
    expect(warnings).toMatch(/^acknowledged by west$/m)
    expect(warnings).toMatch(/^north .* accepts tokens of older terms/m)
    expect(warnings).toMatch(new RegExp(`older terms were given to .*west \\(${ids['west']}\\)`))
    const [old, fresh] = await termsAt('east')
    expect(old).toMatchObject({
      number: 1,
      tokens_until: expect.any(String),
      acknowledged_by: ['west'],
      unacknowledged_by: ['north'],
    })
    expect(fresh).not.toHaveProperty('tokens_until')
    set.heal('east', 'north')
    await set.converge()
    // a secondary acknowledges with its next heartbeat
    for (const name of ['west', 'north']) await set.at(name).pull()
    expect((await termsAt('east'))[0]).toMatchObject({
      acknowledged_by: expect.arrayContaining(['west', 'north']),
      unacknowledged_by: [],
    })
  })

  test('with a revocation lists the revoked cluster as a holder, and waits only for the other clusters', async () => {
    const { body } = await whilePulling('west', revoke('north', { retire: true }))
    const warnings = body.warnings.join('\n')
    expect(warnings).toContain(`north (${ids['north']}), which is revoked`)
    expect(warnings).toMatch(/^acknowledged by west$/m)
    expect(warnings).not.toMatch(/acknowledged by north/)
    expect((await givenAt('east')).map(given => given.includes('north!'))).toEqual([true, false])
  })
})

describe('a cluster that has left the set', () => {
  test('cannot join the set again until the primary revokes the cluster, and the refusal names the command for that', async () => {
    await doing.giveToken('west')
    await set.at('west').ok('POST', `${R}/secondary/disable`, { dr_operation_token: OPERATION_TOKEN })
    await set.settled()
    set.pass(60_000)
    const { body } = await set.at('east').ok('POST', `${R}/primary/secondary-token`, { id: 'west-again' })
    const refused = await set
      .at('west')
      .request('POST', `${R}/secondary/enable`, { token: body.wrap_info.token })
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('revoke west by POST sys/replication/dr/primary/revoke-secondary'),
    ])
    expect(refused.text).toContain('west')
    await revoke('west')
    await set.join('west', 'east', 'west-2')
    await set.converge()
    const holders = async (name: string) =>
      (await set.at(name).ports.store.list(itemPartitions('holder'))).map(({ sk, data }) => [sk, data])
    expect(await holders('west')).toEqual(await holders('east'))
    expect(await givenAt('east')).toEqual([['north', 'west']])
  })
})
