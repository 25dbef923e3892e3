import { beforeAll, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { errorsOf, HOME, launch, loginAs, placeOf, satellite } from '../../support/requests/logins.ts'
import { refused, renew } from '../../support/requests/renewals.ts'
import { lives, lookUp } from '../../support/requests/tokens.ts'
import { api, aws, done, fresh, freshMount, localCertificate } from '../../support/service/cluster.ts'

describe('renewing an ec2 token', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
  })

  const roleOf = async (given: Record<string, unknown> = {}, name = fresh('role')): Promise<string> => {
    await done('POST', `${mount}/role/${name}`, { auth_type: 'ec2', bound_region: HOME.region, ...given })
    return name
  }

  const entryOf = async (id: string) => (await done('GET', `${mount}/identity-accesslist/${id}`)).body.data

  /** Logs in a new running instance. */
  async function loggedIn(given: Record<string, unknown> = {}, values = {}) {
    const instance = await launch(values)
    const role = await roleOf(given)
    const reply = await loginAs(mount, instance, { role, nonce: 'mine' })
    expect(reply.status, reply.text).toBe(200)
    return { instance, role, auth: reply.body.auth as ResponseAuth }
  }

  test("uses the role's current TTL, maximum and period", async () => {
    const { role, auth } = await loggedIn({ token_ttl: '1h' })
    await roleOf({ token_ttl: '2h' }, role)
    expect((await renew(auth)).body.auth.lease_duration).toBe(7200)
    await roleOf({ token_max_ttl: '3h' }, role)
    expect((await renew(auth, { increment: '9h' })).body.auth.lease_duration).toBeLessThanOrEqual(10800)
    await roleOf({ token_period: '4h' }, role)
    expect((await renew(auth)).body.auth.lease_duration).toBe(3 * 3600)
    await roleOf({ token_max_ttl: 0 }, role)
    expect((await renew(auth)).body.auth.lease_duration).toBe(4 * 3600)
  })

  test('updates only the times of the access-list entry', async () => {
    const { instance, role, auth } = await loggedIn()
    const before = await entryOf(instance.instanceId)
    await roleOf({ token_max_ttl: '1000h' }, role)
    await renew(auth)
    const after = await entryOf(instance.instanceId)
    expect(after).toEqual({
      ...before,
      last_updated_time: expect.any(String),
      expiration_time: expect.any(String),
    })
    const [updated, expires] = [Date.parse(after.last_updated_time), Date.parse(after.expiration_time)]
    expect(updated).toBeGreaterThan(Date.parse(before.last_updated_time))
    expect(expires - updated).toBe(1000 * 3600 * 1000)
  })

  test.each(['pending', 'stopping', 'stopped', 'shutting-down', 'terminated'] as const)(
    'fails for a %s instance',
    async state => {
      const { instance, auth } = await loggedIn()
      const before = await entryOf(instance.instanceId)
      await aws.setInstance({ ...placeOf(instance), state })
      await refused(auth)
      expect(await entryOf(instance.instanceId)).toEqual(before)
    },
  )

  test('fails for a terminated instance that EC2 no longer lists', async () => {
    const { instance, auth } = await loggedIn()
    await aws.deleteInstance(placeOf(instance))
    await refused(auth)
  })

  test('fails without the access-list entry, and does not recreate the entry', async () => {
    const { instance, auth } = await loggedIn()
    const entry = `${mount}/identity-accesslist/${instance.instanceId}`
    await done('DELETE', entry)
    await refused(auth)
    expect((await api('GET', entry)).status).toBe(404)
  })

  test('fails when a later login has recreated the access-list entry', async () => {
    const { instance, role, auth } = await loggedIn()
    const again = (await loginAs(mount, instance, { role, nonce: 'mine' })).body.auth
    expect((await renew(auth)).status, 'a login that finds the entry leaves it').toBe(200)
    await done('DELETE', `${mount}/identity-accesslist/${instance.instanceId}`)
    const later = await loginAs(mount, instance, { role, nonce: 'other' })
    expect(later.status, later.text).toBe(200)
    const before = await entryOf(instance.instanceId)
    for (const old of [auth, again]) await refused(old)
    expect(await entryOf(instance.instanceId)).toEqual(before)
    expect((await renew(later.body.auth)).status).toBe(200)
  })

  test('fails when the role was deleted or recreated', async () => {
    const { role, auth } = await loggedIn()
    await done('DELETE', `${mount}/role/${role}`)
    await refused(auth)
    await roleOf({}, role)
    await refused(auth)
  })

  test("uses the token's role, not the role of the first login", async () => {
    const { instance, role: first } = await loggedIn({ token_ttl: '1h' })
    const second = await roleOf({ token_ttl: '2h' })
    const { body } = await loginAs(mount, instance, { role: second, nonce: 'mine' })
    await done('DELETE', `${mount}/role/${first}`)
    expect((await renew(body.auth)).body.auth.lease_duration).toBe(7200)
    expect(await entryOf(instance.instanceId)).toMatchObject({ role: first })
  })

  test('does not check bounds, nonce or reauthentication again', async () => {
    const { instance, role, auth } = await loggedIn()
    await roleOf({ bound_region: 'eu-central-1', bound_ami_id: 'ami-0123456789abcdef0' }, role)
    await roleOf({ disallow_reauthentication: true }, role)
    await aws.setInstance({ ...placeOf(instance), pendingTime: '2020-01-01T00:00:00Z' })
    expect((await renew(auth)).status).toBe(200)
    expect(await entryOf(instance.instanceId)).toMatchObject({ disallow_reauthentication: false })
  })

  test("stays within the role tag's maximum", async () => {
    const instance = await launch()
    const role = await roleOf({ token_ttl: '1h', role_tag: 'CloudRole' })
    const tag = await done('POST', `${mount}/role/${role}/tag`, { max_ttl: '2h' })
    await aws.setInstance({ ...placeOf(instance), tags: { CloudRole: tag.body.data.tag_value } })
    const { body } = await loginAs(mount, instance, { role })
    expect(body.auth.metadata).toMatchObject({ role_tag_max_ttl: '2h0m0s' })
    // a renewal reads neither the tag nor the deny list
    await aws.setInstance({ ...placeOf(instance), tags: {} })
    await done('POST', `${mount}/roletag-denylist/${encodeURIComponent(tag.body.data.tag_value)}`)
    const renewed = await renew(body.auth, { increment: '9h' })
    expect(renewed.status, renewed.text).toBe(200)
    expect(renewed.body.auth.lease_duration).toBeLessThanOrEqual(7200)
  })

  test('calls EC2 once, in the account of the instance', async () => {
    const account = await satellite(mount)
    const { instance, auth } = await loggedIn({}, { account })
    const { calls: before } = await aws.calls()
    expect((await renew(auth)).status).toBe(200)
    const { calls } = await aws.calls({ since: before.at(-1)?.seq ?? 0 })
    const mine = calls.filter(one => one.body.includes(instance.instanceId))
    expect(mine.map(({ action, account: of }) => [action, of])).toEqual([['DescribeInstances', account]])
  })

  test('fails without an STS role for the account', async () => {
    const account = await satellite(mount)
    const { auth } = await loggedIn({}, { account })
    await done('DELETE', `${mount}/config/sts/${account}`)
    const reply = await renew(auth)
    expect([reply.status, errorsOf(reply)]).toEqual([400, expect.stringContaining(account)])
    expect(await lives(auth.client_token)).toBe(true)
  })

  test.each([
    ['throttles', { kind: 'throttle' as const, times: 20 }, 503],
    ['fails', { kind: 'error' as const, status: 500, code: 'InternalError', times: 20 }, 502],
  ])('changes nothing while EC2 %s', async (_, fault, status) => {
    const account = await satellite(mount)
    const { auth } = await loggedIn({}, { account })
    await aws.fault({ service: 'ec2', account, ...fault })
    const before = await lookUp(auth.client_token)
    const reply = await renew(auth)
    expect(reply.status, reply.text).toBe(status)
    expect(await lookUp(auth.client_token)).toEqual({ ...before, ttl: expect.any(Number) })
  })

  test('succeeds several times concurrently', async () => {
    const { auth } = await loggedIn()
    const replies = await Promise.all([renew(auth), renew(auth), renew(auth)])
    expect(replies.map(reply => reply.status)).toEqual([200, 200, 200])
  })
})
