import { describe, expect, test } from 'vitest'
import { errorsOf } from '../../support/requests/logins.ts'
import { lives, lookUp } from '../../support/requests/tokens.ts'
import { workerOn } from '../../support/requests/workers.ts'
import { done, freshMount } from '../../support/service/cluster.ts'

describe('tokens of a mount', () => {
  test.each<[mount: string, role: string, given: string]>([
    ['default-service', 'default', 'service'],
    ['default-service', '', 'service'],
    ['default-service', 'batch', 'batch'],
    ['default-batch', 'default', 'batch'],
    ['default-batch', 'service', 'service'],
    ['service', 'default', 'service'],
    ['service', 'batch', 'service'],
    ['batch', 'default', 'batch'],
    ['batch', 'service', 'batch'],
  ])('a mount with token type %s and a role with %j issue %s tokens', async (mount, role, given) => {
    const { path } = await freshMount('cloud', { token_type: mount })
    const auth = await (await workerOn(path, { token_type: role })).login()
    expect([auth.token_type, auth.accessor === '']).toEqual([given, given === 'batch'])
    expect(await lives(auth.client_token)).toBe(true)
  })

  test.each([{ token_period: '1h' }, { token_num_uses: 3 }])(
    'a mount with batch tokens rejects a login whose role has %j',
    async given => {
      const { path } = await freshMount('cloud', { token_type: 'batch' })
      const reply = await (await workerOn(path, given)).tryLogin()
      expect([reply.status, errorsOf(reply)]).toEqual([400, expect.stringContaining('batch tokens')])
    },
  )

  test('tuning a mount applies to the next login on this mount only, and not to existing tokens', async () => {
    const [{ path }, other] = [await freshMount(), await freshMount()]
    const [worker, neighbour] = [await workerOn(path), await workerOn(other.path)]
    const before = await worker.login()
    await done('POST', `/sys${path}/tune`, {
      default_lease_ttl: '1h',
      max_lease_ttl: '2h',
      token_type: 'batch',
    })
    expect(await worker.login()).toMatchObject({ lease_duration: 3600, token_type: 'batch' })
    expect(await neighbour.login()).toMatchObject({ lease_duration: 768 * 3600, token_type: 'service' })
    expect(await lookUp(before.client_token)).toMatchObject({ type: 'service', creation_ttl: 768 * 3600 })
  })

  test("the default TTL of a token is reduced to the mount's maximum", async () => {
    const { path } = await freshMount('cloud', { max_lease_ttl: '1h' })
    expect(await (await workerOn(path)).login()).toMatchObject({ lease_duration: 3600 })
  })

  test("a role's TTL above the mount's maximum is stored with a warning, and reduced at login", async () => {
    const { path } = await freshMount('cloud', { max_lease_ttl: '1h' })
    const worker = await workerOn(path)
    const written = await done('POST', `${path}/role/${worker.role}`, {
      token_max_ttl: '2h',
      token_ttl: '2h',
    })
    expect(written.body.warnings.join()).toContain('token_max_ttl')
    expect(await worker.login()).toMatchObject({ lease_duration: 3600 })
  })
})
