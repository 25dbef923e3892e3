import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { errorsOf } from '../../support/requests/logins.ts'
import { lives, lookUp, make } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { clock } from '../../support/service/clock.ts'
import { api, done, freshMount } from '../../support/service/cluster.ts'

const H = 3600
const SYSTEM = 768 * H

beforeEach(clock.stop)
afterEach(clock.reset)

const renewSelf = (token: string, given: Record<string, unknown> = {}) =>
  api('POST', '/auth/token/renew-self', given, { token })

/** Logs in with a role on a mount with this configuration, and returns the token and the warnings. */
async function granted(role: Record<string, unknown>, config: Record<string, unknown>) {
  const { path } = await freshMount('cloud', config)
  const worker = await workerOn(path, role)
  const { body } = await worker.tryLogin()
  return { worker, auth: body.auth as ResponseAuth, warnings: body.warnings as string[] | null }
}

describe("the lifetime of a login's token", () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, number, boolean]>([
    ["is the system's by default", {}, {}, SYSTEM, false],
    ["is the mount's default", {}, { default_lease_ttl: '2h' }, 2 * H, false],
    ["is the role's rather than the mount's", { token_ttl: '1h' }, { default_lease_ttl: '2h' }, H, false],
    ["is the mount's maximum if the default is longer", {}, { max_lease_ttl: '3h' }, 3 * H, false],
    ["is the role's maximum if the mount's default is longer", { token_max_ttl: '1h' }, {}, H, false],
    [
      "is the mount's maximum if the role's TTL is longer",
      { token_ttl: '5h' },
      { max_lease_ttl: '2h' },
      2 * H,
      true,
    ],
    [
      "may exceed the system's maximum if the mount allows it",
      { token_ttl: '800h' },
      { max_lease_ttl: '900h' },
      800 * H,
      false,
    ],
    ["is the system's maximum if the role's TTL is longer", { token_ttl: '800h' }, {}, SYSTEM, true],
    [
      "is the mount's maximum if the role's maximum is longer",
      { token_ttl: '5h', token_max_ttl: '9h' },
      { max_lease_ttl: '2h' },
      2 * H,
      true,
    ],
    [
      'is the explicit maximum if the TTL is longer',
      { token_ttl: '5h', token_explicit_max_ttl: '90m' },
      {},
      5400,
      true,
    ],
    [
      "is the mount's maximum if the explicit maximum is longer",
      { token_ttl: '5h', token_explicit_max_ttl: '9h' },
      { max_lease_ttl: '2h' },
      2 * H,
      true,
    ],
    ['is the period instead of the TTL', { token_ttl: '1h', token_period: '2h' }, {}, 2 * H, false],
    [
      "is the role's maximum if the period is longer",
      { token_period: '2h', token_max_ttl: '1h' },
      {},
      H,
      true,
    ],
    [
      'is the explicit maximum if the period is longer',
      { token_period: '2h', token_explicit_max_ttl: '1h' },
      {},
      H,
      true,
    ],
  ])('%s', async (_, role, config, seconds, warned) => {
    const { auth, warnings } = await granted(role, config)
    expect([auth.lease_duration, Boolean(warnings?.length)]).toEqual([seconds, warned])
    if (warned) expect(warnings?.join()).toContain(`reduced to ${seconds} s`)
  })
})

describe('the lifetime after a renewal', () => {
  test.each<[string, Record<string, unknown>, string | number | undefined, number]>([
    ["is the role's without an increment", { token_ttl: '1h' }, undefined, H],
    ["is the role's with an increment of 0", { token_ttl: '1h' }, 0, H],
    ['is a longer increment', { token_ttl: '1h' }, '3h', 3 * H],
    ['is a shorter increment', { token_ttl: '1h' }, 60, 60],
    ['is an increment of a few seconds', { token_ttl: '1h' }, '7s', 7],
    ['is the period instead of a longer increment', { token_period: '2h' }, '3h', 2 * H],
    ['is the period instead of a shorter increment', { token_period: '2h' }, 60, 2 * H],
  ])('%s', async (_, role, increment, seconds) => {
    const { auth } = await granted(role, {})
    const renewed = await renewSelf(auth.client_token, increment === undefined ? {} : { increment })
    expect(renewed.body.auth).toMatchObject({
      client_token: auth.client_token,
      accessor: auth.accessor,
      lease_duration: seconds,
      renewable: true,
    })
    const { ttl, expire_time: end } = await lookUp(auth.client_token)
    expect(ttl).toBe(seconds)
    const lasts = Date.parse(String(end)) - clock.now()
    expect(lasts).toBeGreaterThanOrEqual(seconds * 1000)
    expect(lasts).toBeLessThan(seconds * 1000 + 1100)
  })

  test.each<[string, Record<string, unknown>]>([
    ["the role's maximum", { token_max_ttl: '2h' }],
    ['the explicit maximum', { token_explicit_max_ttl: '2h' }],
  ])('with %s is limited from the login on, with a warning', async (_, limit) => {
    const { auth } = await granted({ token_ttl: '1h', ...limit }, {})
    clock.advance(60)
    const { body } = await renewSelf(auth.client_token, { increment: '5h' })
    expect(body.auth.lease_duration).toBe(2 * H - 60)
    expect(body.warnings.join()).toContain('reduced to')
  })

  test("follows the mount's current settings", async () => {
    const { path } = await freshMount()
    const worker = await workerOn(path)
    const { client_token: token } = await worker.login()
    await done('POST', `/sys${path}/tune`, { default_lease_ttl: '2h', max_lease_ttl: '3h' })
    expect((await renewSelf(token)).body.auth.lease_duration).toBe(2 * H)
    clock.advance(60)
    expect((await renewSelf(token, { increment: '9h' })).body.auth.lease_duration).toBe(3 * H - 60)
  })

  test('never exceeds the maximum by repeated renewals (CVE-2021-32923)', async () => {
    const { worker, auth } = await granted({ token_ttl: '4m', token_max_ttl: '7m' }, {})
    const { expire_time: first, ttl } = await lookUp(auth.client_token)
    const end = Date.parse(String(first)) / 1000 + 3 * 60
    expect(ttl).toBe(4 * 60)
    for (let minute = 0; minute < 7; minute++) {
      expect((await renewSelf(auth.client_token)).body.auth.lease_duration).toBe(60 * Math.min(4, 7 - minute))
      const { expire_time: shown } = await lookUp(auth.client_token)
      expect(Math.floor(Date.parse(String(shown)) / 1000)).toBeLessThanOrEqual(end)
      clock.advance(60)
    }
    // expirations are rounded up to a second
    clock.advance(2)
    expect((await renewSelf(auth.client_token)).status).toBe(403)
    expect(await lives(auth.client_token)).toBe(false)
    expect((await worker.login()).lease_duration).toBe(4 * 60)
  })

  test('is unchanged when the maximum has passed, and the renewal is rejected', async () => {
    const { worker, auth } = await granted({ token_ttl: '1h' }, {})
    clock.advance(60)
    await worker.change({ token_ttl: '1m', token_max_ttl: '1m' })
    const late = await renewSelf(auth.client_token)
    expect([late.status, errorsOf(late)]).toEqual([400, expect.stringContaining('maximum lifetime')])
    const { creation_ttl, ttl } = await lookUp(auth.client_token)
    expect(creation_ttl).toBe(H)
    // the expiration is rounded up to a second
    expect([H - 60, H - 59]).toContain(ttl)
    expect(await lives(auth.client_token)).toBe(true)
  })

  test("is shortened when the role's maximum was shortened", async () => {
    const { worker, auth } = await granted({ token_ttl: '1h' }, {})
    clock.advance(60)
    await worker.change({ token_ttl: '4m', token_max_ttl: '4m' })
    expect((await renewSelf(auth.client_token)).body.auth.lease_duration).toBe(3 * 60)
    clock.advance(3 * 60 + 2)
    expect((await renewSelf(auth.client_token)).status).toBe(403)
    expect(await lives(auth.client_token)).toBe(false)
  })
})

describe('the lifetime of a token from auth/token/create', () => {
  test.each<[string, Record<string, unknown>, number, boolean]>([
    ["is the system's by default", {}, SYSTEM, false],
    ['is the requested TTL', { ttl: '90m' }, 5400, false],
    ['is the requested lease', { lease: '90m' }, 5400, false],
    ["is at most the system's maximum", { ttl: '800h' }, SYSTEM, true],
    ['is at most the explicit maximum', { ttl: '2h', explicit_max_ttl: '1h' }, H, true],
    ['is the explicit maximum without a TTL', { explicit_max_ttl: '1h' }, H, false],
    ['is the period', { period: '1h', ttl: '3h' }, H, false],
    ["is the system's maximum if the period is longer", { period: '800h' }, SYSTEM, true],
    ['is cut to whole seconds', { ttl: '1999ms' }, 1, false],
  ])('%s', async (_, given, seconds, warned) => {
    const { body } = await done('POST', '/auth/token/create', { policies: 'default', ...given })
    expect([body.auth.lease_duration, Boolean(body.warnings?.length)]).toEqual([seconds, warned])
  })

  test('renewing an expiring root token does not remove its expiration', async () => {
    const { client_token: token } = await make({ policies: 'root', ttl: '1h' })
    expect((await renewSelf(token, { increment: '900h' })).body.auth.lease_duration).toBeLessThanOrEqual(
      SYSTEM,
    )
    expect((await lookUp(token))['expire_time']).not.toBeNull()
  })

  test('an expired token is invalid before any cleanup', async () => {
    const { client_token: token, accessor } = await make({ policies: 'default', ttl: '1m' })
    clock.advance(60)
    expect(await lives(token)).toBe(true)
    clock.advance(2)
    expect(await lives(token)).toBe(false)
    const refusals = await Promise.all([
      api('POST', '/auth/token/lookup', { token }),
      api('POST', '/auth/token/lookup-accessor', { accessor }),
      api('POST', '/auth/token/renew', { token }),
      api('POST', '/auth/token/renew-accessor', { accessor }),
    ])
    expect(refusals.map(reply => reply.status)).toEqual([403, 400, 400, 400])
    const { body } = await done('GET', '/auth/token/accessors?list=true')
    expect(body.data.keys).not.toContain(accessor)
  })

  test('a chosen ID can be used again after its token expired', async () => {
    const id = `again-${Math.random()}`.replace('.', '')
    await make({ id, policies: 'default', ttl: '1m' })
    clock.advance(62)
    expect(await lives(id)).toBe(false)
    expect((await make({ id, policies: 'default', ttl: '1h' })).client_token).toBe(id)
    expect(await lives(id)).toBe(true)
  })
})
