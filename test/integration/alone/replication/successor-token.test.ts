import { beforeEach, expect, test } from 'vitest'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// A cluster has taken over and makes operation tokens, which its former primary accepts before it follows any cluster.

const R = '/sys/replication/dr'
const POLICY = { policy: `path "${R.slice(1)}/secondary/*" { capabilities = ["update"] }` }
const ROLE = { allowed_policies: 'failover', orphan: true, renewable: false, token_type: 'batch' }

let set: ClusterSet

beforeEach(async () => {
  set = await clusterSet(['east', 'west'])
  await set.enable('east')
  await set.join('west', 'east')
  await set.at('east').ok('POST', '/sys/policies/acl/failover', POLICY)
  await set.at('east').ok('POST', '/auth/token/roles/failover', ROLE)
  await set.converge()
})

/** Promotes west, and lets its worker call the other cluster. */
async function takeOver(how: { force?: true } = {}): Promise<void> {
  const { giveToken, promote } = promotions(set)
  await giveToken('west')
  const { status, body } = await promote('west', how)
  expect(status, JSON.stringify(body)).toBe(200)
  await set.settled()
}

const tokenOf = async (name: string): Promise<string> =>
  (await set.at(name).ok('POST', '/auth/token/create/failover', { ttl: '1h' })).body.auth.client_token

const activation = async (): Promise<string> =>
  (await set.at('west').ok('POST', `${R}/primary/secondary-token`, { id: 'east' })).body.wrap_info.token

/** Sends an operation to east. */
const operate = (path: string, body: object) => set.at('east').request('POST', `${R}/secondary/${path}`, body)

test.each([
  ['planned', 'planned' as const],
  ['forced while east could not be reached', 'forced' as const],
])(
  'after a take-over that was %s, a token of the new primary makes the former primary follow the new primary',
  async (_, how) => {
    if (how === 'forced') set.cut('east', 'west')
    await takeOver(how === 'forced' ? { force: true } : {})
    set.heal('east', 'west')
    await set.tick()
    const before = await set.at('east').record()
    expect(before).toMatchObject({ mode: 'secondary', link: { primaryKey: '' } })
    const token = await tokenOf('west')
    const reply = await operate('update-primary', { dr_operation_token: token, token: await activation() })
    expect(reply.status, reply.text).toBe(200)
    await set.converge()
    expect((await set.everything('east')).items).toEqual((await set.everything('west')).items)
  },
)

test('a token of the new primary is invalid before the fence arrives, and afterwards valid for operations only', async () => {
  await set.at('east').ok('POST', `${R}/primary/demote`)
  set.cut('east', 'west')
  await takeOver({ force: true })
  const token = await tokenOf('west')
  expect((await operate('update-primary', { dr_operation_token: token, token: '' })).status).toBe(403)
  set.heal('east', 'west')
  await set.tick()
  const inHeader = await set.at('east').request('GET', `${R}/readiness`, undefined, { token })
  expect([inHeader.status, inHeader.text]).toEqual([403, expect.stringContaining('permission denied')])
  expect((await operate('readiness', { dr_operation_token: token })).status).toBe(200)
})

test('after a rotation on the new primary the refusal names the unknown term and the ceremony', async () => {
  await takeOver()
  await set.tick()
  await set.at('west').ok('POST', '/sys/rotate', {})
  const reply = await operate('update-primary', { dr_operation_token: await tokenOf('west'), token: '' })
  expect([reply.status, reply.headers['x-error-code']]).toEqual([403, 'unknown_term'])
  expect(reply.text).toContain('permission denied')
  expect(reply.text).toContain('made after a keyring rotation that this cluster has not fetched')
  expect(reply.text).toContain('generate-operation-token/attempt')
})

test('a token of a revoked cluster that was promoted is invalid everywhere', async () => {
  await set.at('east').ok('POST', `${R}/primary/revoke-secondary`, { id: 'west' })
  await set.at('east').ok('POST', `${R}/primary/demote`)
  await takeOver({ force: true })
  await set.tick()
  const { body } = await set.at('west').request('GET', `${R}/status`)
  expect(body.data.fences).toMatchObject([{ result: 'denied' }])
  const reply = await operate('update-primary', { dr_operation_token: await tokenOf('west'), token: '' })
  expect([reply.status, reply.text]).toEqual([403, expect.stringContaining('permission denied')])
})
