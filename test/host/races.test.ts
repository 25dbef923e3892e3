import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs, pkcs7Of } from '../support/requests/logins.ts'
import type { Reply } from '../support/service/api.ts'
import { api, done, fresh, freshMount, localCertificate } from '../support/service/cluster.ts'

const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

const statuses = (replies: readonly Reply[]): number[] => [...new Set(replies.map(one => one.status))].sort()

describe('concurrent logins', () => {
  let mount = ''
  const roleNamed = async (values: object = {}) => {
    const role = fresh('r')
    await done('POST', `${mount}/role/${role}`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      ...values,
    })
    return role
  }
  const entryOf = async ({ instanceId }: { instanceId: string }) =>
    (await done('GET', `${mount}/identity-accesslist/${instanceId}`)).body.data

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    // warms the environments, because new ones are slow
    const role = await roleNamed()
    expect(statuses(await times(4, async () => loginAs(mount, await launch(), { role })))).toEqual([200])
  })

  test('only one of 16 first logins without a nonce succeeds, and the other 15 logins get 400', async () => {
    const role = await roleNamed()
    const instance = await launch()
    const pkcs7 = await pkcs7Of(instance)
    const replies = await times(16, () => api('POST', `${mount}/login`, { role, pkcs7 }, { token: '' }))
    const [winner, ...more] = replies.filter(one => one.status === 200)
    expect(more).toEqual([])
    expect(winner?.body.auth.metadata.nonce).toBe((await entryOf(instance)).client_nonce)
    const losers = replies.filter(one => one !== winner)
    expect([...new Set(losers.map(one => `${one.status} ${errorsOf(one)}`))]).toEqual([
      '400 nonce does not match',
    ])
  })

  test('of first logins with different nonces only the logins with the stored nonce succeed', async () => {
    const role = await roleNamed()
    const instance = await launch()
    const pkcs7 = await pkcs7Of(instance)
    const replies = await times(20, async index => {
      const nonce = `nonce ${index % 5}`
      return { nonce, reply: await api('POST', `${mount}/login`, { role, pkcs7, nonce }, { token: '' }) }
    })
    const { client_nonce: kept } = await entryOf(instance)
    const admitted = replies.filter(({ reply }) => reply.status === 200)
    expect([...new Set(admitted.map(({ nonce }) => nonce))]).toEqual([kept])
    const others = replies.filter(({ nonce }) => nonce !== kept).map(({ reply }) => reply)
    expect(statuses(others)).toEqual([400])
  })

  test('logins with the right nonce all succeed, or get 503', async () => {
    const role = await roleNamed()
    const instance = await launch()
    const replies = await times(12, () => loginAs(mount, instance, { role, nonce: 'shared' }))
    const busy = replies.filter(one => one.status !== 200)
    expect(busy.every(one => one.status === 503 && one.headers['retry-after'] !== undefined)).toBe(true)
    expect(busy.length).toBeLessThan(8)
  })

  test('24 instances that log in with one role all succeed as one entity', async () => {
    const role = await roleNamed()
    const replies = await times(24, async () => loginAs(mount, await launch(), { role }))
    expect(statuses(replies)).toEqual([200])
    expect(new Set(replies.map(one => one.body.auth.entity_id)).size).toBe(1)
    expect(new Set(replies.map(one => one.body.auth.client_token)).size).toBe(24)
  })

  test('48 logins with different metadata for one alias all succeed', async () => {
    await done('POST', `${mount}/config/identity`, { ec2_metadata: ['instance_id', 'account_id'] })
    const role = await roleNamed()
    await loginAs(mount, await launch(), { role })
    const instances = await times(48, () => launch())
    const replies = await Promise.all(instances.map(one => loginAs(mount, one, { role })))
    expect(replies.filter(one => one.status !== 200).map(errorsOf)).toEqual([])
    const entities = [...new Set(replies.map(one => one.body.auth.entity_id))]
    expect(entities).toHaveLength(1)
    const { body } = await done('GET', `/identity/entity/id/${entities[0]}`)
    const names = instances.map(one => one.instanceId)
    expect(names).toContain(body.data.aliases[0].metadata.instance_id)
  })

  test('a login during a role update gets all of the old values or all of the new values', async () => {
    const role = await roleNamed({ token_policies: 'one,two', token_ttl: 100 })
    const [replies] = await Promise.all([
      times(12, async () => loginAs(mount, await launch(), { role })),
      done('POST', `${mount}/role/${role}`, { token_policies: 'three,four', token_ttl: 200 }),
    ])
    const seen = replies.map(({ body }) => [body.auth.policies.join(), body.auth.lease_duration].join(' '))
    for (const one of seen) expect(['default,one,two 100', 'default,four,three 200']).toContain(one)
    const later = await loginAs(mount, await launch(), { role })
    expect(later.body.auth.policies).toEqual(['default', 'four', 'three'])
  })

  test('a login during the deletion of its role succeeds or finds no role, and later logins find no role', async () => {
    const role = await roleNamed()
    const instances = await times(12, () => launch())
    const [replies] = await Promise.all([
      Promise.all(instances.map(instance => loginAs(mount, instance, { role }))),
      done('DELETE', `${mount}/role/${role}`),
    ])
    const refused = replies.filter(one => one.status !== 200)
    expect(new Set(refused.map(errorsOf)).size).toBeLessThanOrEqual(1)
    for (const one of refused) expect([one.status, errorsOf(one)]).toEqual([400, `no role named "${role}"`])
    expect((await loginAs(mount, await launch(), { role })).status).toBe(400)
  })

  test('a login that starts after the denial of its role tag is rejected', async () => {
    const role = await roleNamed({ role_tag: 'Role' })
    const { body } = await done('POST', `${mount}/role/${role}/tag`)
    const tag: string = body.data.tag_value
    const bodies = await times(12, async () => {
      const instance = await launch({ tags: { Role: tag } })
      return { role, pkcs7: await pkcs7Of(instance) }
    })
    let denied = false
    const logins = bodies.map(async (login, index) => {
      await new Promise(resolve => setTimeout(resolve, index * 10))
      const late = denied
      return { late, reply: await api('POST', `${mount}/login`, login, { token: '' }) }
    })
    const denial = done('POST', `${mount}/roletag-denylist/${encodeURIComponent(tag)}`).then(() => {
      denied = true
    })
    const outcomes = await Promise.all(logins)
    await denial
    const after = [
      ...outcomes.filter(({ late }) => late).map(({ reply }) => reply),
      await loginAs(mount, await launch({ tags: { Role: tag } }), { role }),
    ]
    expect([...new Set(after.map(errorsOf))]).toEqual(['role tag check failed: the tag is on the deny list'])
  })

  test('only one of the logins after the deletion of an access-list entry counts as the first login', async () => {
    const role = await roleNamed()
    const instance = await launch()
    await loginAs(mount, instance, { role })
    const pkcs7 = await pkcs7Of(instance)
    await done('DELETE', `${mount}/identity-accesslist/${instance.instanceId}`)
    const replies = await times(8, () => api('POST', `${mount}/login`, { role, pkcs7 }, { token: '' }))
    expect(replies.filter(one => one.status === 200)).toHaveLength(1)
  })
})
