import { expect, test } from 'vitest'
import { claimantRevokedError } from '../../../../shared/link/refusals.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }

async function status(set: ClusterSet, name: string) {
  const { body } = await set.at(name).request('GET', '/sys/replication/dr/status')
  return body.data
}
const health = async (set: ClusterSet, name: string) =>
  (await set.at(name).request('GET', '/sys/health')).status
const write = async (set: ClusterSet, name: string) =>
  (await set.at(name).request('POST', `/sys/policies/acl/of-${name}`, POLICY)).status
const fences = (set: ClusterSet, from: string, to: string) =>
  set.net.calls.filter(call => call.method === 'Fence' && call.from === from && call.to === to).length

/** Promotes a cluster by force. @returns its epoch */
async function forced(set: ClusterSet, name: string): Promise<string> {
  const { giveToken, promote } = promotions(set)
  await giveToken(name)
  const { status: code, body } = await promote(name, { force: true })
  expect(code, JSON.stringify(body)).toBe(200)
  await set.settled()
  return (await set.at(name).record()).epoch ?? ''
}

/**
 * Makes a cluster follow another cluster, and waits until it has an item that only the other cluster wrote.
 */
async function following(set: ClusterSet, name: string, primary: string): Promise<void> {
  await promotions(set).follow(name, primary)
  await set.settled()
  expect(await write(set, primary)).toBe(204)
  const { epoch } = await set.at(primary).record()
  for (let rounds = 0; (await set.at(name).head()).epoch !== epoch; rounds++) {
    if (rounds === 20) throw new Error(`${name} never follows ${primary}`)
    await set.tick()
  }
}

test('a revoked cluster that is promoted by force, as in a drill, fences no cluster, shows that, and takes over no secondary', async () => {
  const set = await clusterSet(['east', 'west', 'north'])
  await set.enable('east')
  await set.join('west', 'east')
  await set.join('north', 'east')
  await set.converge()
  await set.at('east').ok('POST', '/sys/replication/dr/primary/revoke-secondary', { id: 'west' })
  await forced(set, 'west')
  await set.tick()
  expect(await write(set, 'east')).toBe(204)
  expect([await health(set, 'east'), (await set.at('east').head()).mode]).toEqual([200, 'writing'])
  const counted = expect.objectContaining({ audit: 'refusals', counts: { 'Fence permission_denied': 1 } })
  expect(set.at('east').audited).toContainEqual(counted)
  const { id } = await set.at('west').record()
  const denied = {
    cluster_address: 'https://east.test',
    result: 'denied',
    text: claimantRevokedError(id).message,
  }
  expect((await status(set, 'west')).fences).toContainEqual(expect.objectContaining(denied))
  // the stored denial remains, and the clusters are not called again
  const asked = fences(set, 'west', 'east')
  await set.tick()
  expect(fences(set, 'west', 'east')).toBe(asked)
  // the old primary knows a secondary of the drill's primary, but the secondary still cannot fence it for the
  // drill
  set.cut('north', 'east')
  await following(set, 'north', 'west')
  set.cut('west', 'north')
  await forced(set, 'north')
  set.heal('north', 'east')
  await set.tick()
  expect(await write(set, 'east')).toBe(204)
  expect((await status(set, 'north')).fences).toContainEqual(
    expect.objectContaining({ cluster_address: 'https://east.test', result: 'denied' }),
  )
})

test('a primary that joined the set through another cluster fences the first primary when the first primary returns', async () => {
  const set = await clusterSet(['east', 'west', 'north'])
  await set.enable('east')
  await set.join('west', 'east')
  await set.join('north', 'east')
  await set.converge()
  const { epoch, id } = await set.at('east').record()
  set.cut('east', 'west')
  set.cut('east', 'north')
  const second = await forced(set, 'west')
  await following(set, 'north', 'west')
  expect(await health(set, 'east'), 'east knows nothing of it').toBe(200)
  set.cut('west', 'north')
  const third = await forced(set, 'north')
  expect(third > second).toBe(true)
  await set.tick()
  expect((await status(set, 'north')).fences).toContainEqual(
    expect.objectContaining({ cluster_address: 'https://east.test', result: 'silent' }),
  )
  set.heal('east', 'north')
  await set.tick()
  expect(await set.at('east').head()).toMatchObject({
    mode: 'closed',
    epoch,
    maxEpoch: Number(third.slice(0, 6)),
  })
  expect([await health(set, 'east'), await write(set, 'east')]).toEqual([472, 400])
  expect((await status(set, 'north')).fences).toContainEqual(
    expect.objectContaining({
      cluster_address: 'https://east.test',
      result: 'acknowledged',
      text: expect.stringMatching(`^${id} has ended ${epoch} at \\d+$`),
    }),
  )
  // west, which no cluster has fenced yet, is next; east is not called again
  const asked = fences(set, 'north', 'east')
  set.heal('west', 'north')
  await set.tick()
  expect(fences(set, 'north', 'east')).toBe(asked)
  expect(await health(set, 'west')).toBe(472)
  expect(await write(set, 'north')).toBe(204)
})
