import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, loginAs, placeOf, restart } from '../../support/requests/logins.ts'
import type { Reply } from '../../support/service/api.ts'
import { api, aws, done, freshMount, localCertificate } from '../../support/service/cluster.ts'

const MISMATCH = 'nonce does not match'
const NOT_NEWER = 'nonce does not match, and pendingTime is not later than before'
const OLDER = 'pendingTime is older than at the last login'
const DISABLED = 'repeat login is disabled for this instance'
const SENTINEL = 'reauthentication-disabled-nonce'

const roles = {
  plain: {},
  migrating: { allow_instance_migration: true },
  once: { disallow_reauthentication: true },
}

type Launched = Awaited<ReturnType<typeof launch>>

describe('ec2 login checks nonce and pendingTime', () => {
  let mount = ''
  const entryOf = async ({ instanceId }: Launched) =>
    (await api('GET', `${mount}/identity-accesslist/${instanceId}`)).body.data
  const login = (instance: Launched, role: string, nonce: string | null | undefined): Promise<Reply> =>
    loginAs(mount, instance, { role, ...(nonce === undefined ? {} : { nonce }) })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    for (const [name, values] of Object.entries(roles)) {
      await done('POST', `${mount}/role/${name}`, {
        auth_type: 'ec2',
        bound_account_id: HOME.account,
        ...values,
      })
    }
  })

  const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
  test.each([
    ['plain', undefined, { kept: UUID, disallowed: false, told: true }],
    ['plain', 'mine', { kept: /^mine$/, disallowed: false, told: false }],
    ['plain', '', { kept: /^$/, disallowed: true, told: false }],
    ['plain', null, { kept: /^$/, disallowed: true, told: false }],
    ['plain', SENTINEL, { kept: /^$/, disallowed: true, told: false }],
    ['once', undefined, { kept: /^$/, disallowed: true, told: false }],
    ['once', 'mine', { kept: /^$/, disallowed: true, told: false }],
    ['once', 'x'.repeat(129), { kept: /^$/, disallowed: true, told: false }],
    ['migrating', undefined, { kept: UUID, disallowed: false, told: true }],
    ['plain', 'x'.repeat(128), { kept: /^x{128}$/, disallowed: false, told: false }],
    ['plain', '\u0000\u{1f600} \\"', { kept: /^\0\u{1f600} \\"$/u, disallowed: false, told: false }],
  ])('first login with role %s and nonce %j', async (role, nonce, { kept, disallowed, told }) => {
    const instance = await launch()
    const answer = await login(instance, role, nonce)
    expect(answer.status, answer.text).toBe(200)
    const entry = await entryOf(instance)
    expect(entry.client_nonce).toMatch(kept)
    expect(entry.disallow_reauthentication).toBe(disallowed)
    expect(answer.body.auth.metadata.nonce).toBe(told ? entry.client_nonce : undefined)
  })

  test('a nonce over 128 characters is rejected, and nothing is stored', async () => {
    const instance = await launch()
    const answer = await login(instance, 'plain', 'x'.repeat(129))
    expect([answer.status, errorsOf(answer)]).toEqual([400, 'nonce is longer than 128 characters'])
    expect(await entryOf(instance)).toBeUndefined()
  })

  type Row = [
    first: string | undefined,
    role: string,
    nonce: string | undefined,
    minutes: number,
    text: string,
  ]
  const again: Row[] = [
    ['mine', 'plain', 'mine', 0, ''],
    ['mine', 'plain', 'mine', 10, ''],
    ['mine', 'plain', 'mine', -10, OLDER],
    ['mine', 'plain', 'other', 0, MISMATCH],
    ['mine', 'plain', 'other', 10, MISMATCH],
    ['mine', 'plain', 'min', 0, MISMATCH],
    ['mine', 'plain', 'MINE', 0, MISMATCH],
    ['mine', 'plain', undefined, 0, MISMATCH],
    ['mine', 'plain', undefined, 10, MISMATCH],
    ['mine', 'plain', '', 0, DISABLED],
    ['mine', 'plain', SENTINEL, 0, DISABLED],
    ['mine', 'migrating', 'other', 10, ''],
    ['mine', 'migrating', undefined, 10, ''],
    ['mine', 'migrating', 'other', 0, NOT_NEWER],
    ['mine', 'migrating', undefined, -10, NOT_NEWER],
    ['mine', 'migrating', 'mine', 0, ''],
    ['mine', 'migrating', 'mine', -10, OLDER],
    ['mine', 'migrating', '', 10, DISABLED],
    ['mine', 'once', 'mine', 0, ''],
    ['mine', 'once', 'other', 0, MISMATCH],
    ['', 'plain', '', 0, DISABLED],
    ['', 'plain', 'mine', 10, DISABLED],
    ['', 'migrating', undefined, 10, DISABLED],
    [SENTINEL, 'plain', SENTINEL, 0, DISABLED],
  ]
  test.each(again)(
    'after nonce %j, a login with role %s and nonce %j, %i minutes later: "%s"',
    async (...row) => {
      const [first, role, nonce, minutes, text] = row
      const instance = await launch()
      await login(instance, 'plain', first)
      const before = await entryOf(instance)
      const answer = await login(await restart(instance, minutes), role, nonce)
      expect([answer.status, errorsOf(answer)]).toEqual([text === '' ? 200 : 400, text])
      if (text !== '') expect(await entryOf(instance)).toEqual(before)
    },
  )

  test('a generated nonce is returned once, and allows further logins', async () => {
    const instance = await launch()
    const { nonce } = (await login(instance, 'plain', undefined)).body.auth.metadata
    const { metadata } = (await login(instance, 'plain', nonce)).body.auth
    expect(metadata).not.toHaveProperty('nonce')
    expect((await login(instance, 'plain', `${nonce} `)).status).toBe(400)
  })

  test('a migration replaces the nonce, and a login with the old nonce is rejected', async () => {
    const instance = await launch()
    await login(instance, 'migrating', 'old')
    const moved = await restart(instance)
    const { nonce } = (await login(moved, 'migrating', undefined)).body.auth.metadata
    expect(await entryOf(instance)).toMatchObject({ client_nonce: nonce, pending_time: moved.pendingTime })
    expect((await login(moved, 'migrating', nonce)).status).toBe(200)
    expect(errorsOf(await login(moved, 'migrating', 'old'))).toBe(NOT_NEWER)
    await login(await restart(moved), 'migrating', 'third')
    expect((await entryOf(instance)).client_nonce).toBe('third')
  })

  test('when the role disallows reauthentication later, the right nonce allows one more login', async () => {
    const instance = await launch()
    await login(instance, 'plain', 'mine')
    expect((await login(instance, 'once', 'mine')).status).toBe(200)
    expect(await entryOf(instance)).toMatchObject({ client_nonce: '', disallow_reauthentication: true })
    expect(errorsOf(await login(instance, 'plain', 'mine'))).toBe(DISABLED)
  })

  test('after its access-list entry is deleted, an instance logs in as for the first time', async () => {
    const instance = await launch()
    await login(instance, 'once', undefined)
    expect(errorsOf(await login(instance, 'once', undefined))).toBe(DISABLED)
    await done('DELETE', `${mount}/identity-accesslist/${instance.instanceId}`)
    expect((await login(instance, 'once', undefined)).status).toBe(200)
  })

  test('pendingTime is compared with fractions of a second', async () => {
    const instance = await launch({ pendingTime: '2026-01-01T00:00:00.0000002Z' })
    await login(instance, 'plain', 'mine')
    const earlier = { ...instance, pendingTime: '2026-01-01T01:00:00.0000001+01:00' }
    await aws.setInstance({ ...placeOf(instance), pendingTime: earlier.pendingTime })
    expect(errorsOf(await login(earlier, 'plain', 'mine'))).toBe(OLDER)
  })

  test('the access-list entry keeps the role of the first login, and its times change with each login', async () => {
    const instance = await launch()
    await login(instance, 'plain', 'mine')
    const first = await entryOf(instance)
    expect(first).toEqual({
      client_nonce: 'mine',
      creation_time: first.last_updated_time,
      disallow_reauthentication: false,
      expiration_time: expect.any(String),
      last_updated_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pending_time: instance.pendingTime,
      role: 'plain',
    })
    const life = (entry: { expiration_time: string; last_updated_time: string }) =>
      Date.parse(entry.expiration_time) - Date.parse(entry.last_updated_time)
    expect(life(first)).toBe(2_764_800_000)
    const moved = await restart(instance)
    await login(moved, 'migrating', 'mine')
    const second = await entryOf(instance)
    expect(second).toMatchObject({
      role: 'plain',
      creation_time: first.creation_time,
      client_nonce: 'mine',
      pending_time: moved.pendingTime,
    })
    expect(Date.parse(second.last_updated_time)).toBeGreaterThan(Date.parse(first.last_updated_time))
    expect(life(second)).toBe(2_764_800_000)
  })

  test('an access-list entry of one mount has no effect on another mount', async () => {
    const instance = await launch()
    await login(instance, 'plain', 'mine')
    const { path } = await freshMount()
    await done('POST', `${path}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${path}/role/plain`, { auth_type: 'ec2', bound_account_id: HOME.account })
    expect((await loginAs(path, instance, { role: 'plain', nonce: 'another' })).status).toBe(200)
  })
})
