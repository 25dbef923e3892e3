import { beforeEach, describe, expect, test } from 'vitest'
import { hashOf } from '../../../shared/model/token.ts'
import { put } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import type { Reply } from '../../support/api.ts'
import { type ClusterSet, clusterSet } from '../../support/set.ts'

const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
const PROMOTE = '/sys/replication/dr/secondary/promote'
const TOKEN = 'hvs.operation-token-of-the-test'

let set: ClusterSet

beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { aws: true })
  await set.enable('east')
  await set.join('west', 'east')
  await write('east', 'before')
  await set.converge()
  await giveToken('west')
})

const write = (cluster: string, name: string): Promise<Reply> =>
  set.at(cluster).request('POST', `/sys/policies/acl/${name}`, POLICY)

/** What the ceremony of the recovery shares leaves. */
async function giveToken(cluster: string): Promise<void> {
  const { ports, record } = set.at(cluster)
  const { set: of = '', epoch = '' } = await record()
  const made = { hash: hashOf(TOKEN), set: of, epoch, madeAt: ports.clock.now() }
  const as = { record: await record(), readAt: ports.clock.now() }
  await ports.store.commit([put(key('operation-token'), made)], as)
}

const promote = (cluster: string, more: object = {}, token = TOKEN): Promise<Reply> =>
  set.at(cluster).request('POST', PROMOTE, { dr_operation_token: token, ...more })

const policies = async (cluster: string): Promise<string[]> =>
  (await set.at(cluster).ok('LIST', '/sys/policies/acl')).body.data.keys

const health = async (cluster: string): Promise<number> =>
  (await set.at(cluster).request('GET', '/sys/health')).status

describe('a planned promotion', () => {
  test('loses nothing that was acknowledged while it ran, and leaves one primary', async () => {
    const acknowledged: string[] = []
    let over = false
    const writer = async (who: number) => {
      for (let n = 0; !over; n++) {
        const reply = await write('east', `w${who}-${n}`).catch(() => undefined)
        if (reply?.status === 204) acknowledged.push(`w${who}-${n}`)
        await set.clock.sleep(20)
      }
    }
    const writers = [1, 2, 3].map(writer)
    const reply = await promote('west')
    over = true
    await Promise.all(writers)
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({
      data: null,
      warnings: [expect.stringMatching(/has become the primary/)],
    })
    expect([await health('east'), await health('west')]).toEqual([472, 200])
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(await policies('west')).toEqual(expect.arrayContaining(['before', ...acknowledged]))
    expect((await write('west', 'after')).status).toBe(204)
    const { items, kept, right } = await set.everything('west')
    expect(kept).toEqual(right)
    expect(items.length).toBeGreaterThan(acknowledged.length)
  })

  test('after the primary was demoted takes all of it over', async () => {
    await write('east', 'last')
    await set.at('east').ok('POST', '/sys/replication/dr/primary/demote')
    expect((await promote('west')).status).toBe(200)
    expect(await policies('west')).toContain('last')
  })
})
