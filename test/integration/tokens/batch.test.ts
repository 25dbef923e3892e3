import { afterEach, describe, expect, test } from 'vitest'
import { errorsOf, loginWith } from '../../support/requests/logins.ts'
import { lives, lookUp, make, makerWith, tryMake } from '../../support/requests/tokens.ts'
import { clock } from '../../support/service/clock.ts'
import { api, aws, done, fresh, freshAccount, freshMount } from '../../support/service/cluster.ts'

afterEach(clock.reset)

const batchOf = (given: Record<string, unknown> = {}, options = {}) =>
  make({ type: 'batch', policies: 'default', ttl: '1h', ...given }, options)

describe('a batch token', () => {
  test('contains all its data', async () => {
    const made = await batchOf({ meta: { a: 'b' } })
    expect(made).toMatchObject({
      client_token: expect.stringMatching(/^hvb\./),
      accessor: '',
      token_type: 'batch',
      renewable: false,
      lease_duration: 3600,
    })
    expect(await lookUp(made.client_token)).toMatchObject({
      type: 'batch',
      accessor: '',
      num_uses: 0,
      renewable: false,
      meta: { a: 'b' },
      orphan: false,
    })
    expect(await lives(made.client_token)).toBe(true)
  })

  test.each([
    ['a use limit', { num_uses: 1 }],
    ['a period', { period: '1h' }],
    ['an explicit maximum', { explicit_max_ttl: '1h' }],
    ['a chosen id', { id: 'chosen-batch' }],
    ['the policy root', { policies: ['root'] }],
    ['the policies of a root parent', { policies: [] }],
  ])('cannot have %s', async (_, given) => {
    const refused = await tryMake({ type: 'batch', policies: 'default', ...given })
    expect(refused.status, refused.text).toBe(400)
    expect(errorsOf(refused)).toContain('batch token')
  })

  test('cannot create tokens', async () => {
    const { client_token: token } = await make({ type: 'batch' }, { token: await makerWith() })
    for (const path of ['create', 'create-orphan']) {
      const refused = await api('POST', `/auth/token/${path}`, {}, { token })
      expect([refused.status, errorsOf(refused)]).toEqual([400, expect.stringContaining('batch token')])
    }
  })

  test('cannot be renewed or revoked', async () => {
    const { client_token: token } = await batchOf()
    for (const path of ['renew', 'revoke', 'revoke-orphan'])
      expect((await api('POST', `/auth/token/${path}`, { token })).status, path).toBe(400)
    for (const path of ['renew-self', 'revoke-self'])
      expect((await api('POST', `/auth/token/${path}`, {}, { token })).status, path).toBe(400)
    expect(await lives(token)).toBe(true)
  })

  test('is revoked with its parent unless the batch token is an orphan', async () => {
    const parent = await makerWith()
    const { client_token: child } = await batchOf({}, { token: parent })
    const { body } = await done('POST', '/auth/token/create-orphan', { type: 'batch' }, { token: parent })
    expect(await lives(child)).toBe(true)
    await done('POST', '/auth/token/revoke', { token: parent })
    expect(await lives(child)).toBe(false)
    expect((await api('POST', '/auth/token/lookup', { token: child })).status).toBe(403)
    expect(await lives(body.auth.client_token)).toBe(true)
  })

  test('is invalid after its expiration, for its holder and for others (CVE-2020-25816)', async () => {
    clock.stop()
    const { client_token: token } = await batchOf({ ttl: '10m' })
    expect(await lives(token)).toBe(true)
    clock.advance(600)
    expect(await lives(token)).toBe(true)
    clock.advance(2)
    expect(await lives(token)).toBe(false)
    expect((await api('POST', '/auth/token/lookup', { token })).status).toBe(403)
  })

  test('with one changed character is invalid', async () => {
    const { client_token: token } = await batchOf()
    for (const at of [6, Math.floor(token.length / 2), token.length - 1]) {
      const other = token[at] === 'A' ? 'B' : 'A'
      expect(await lives(token.slice(0, at) + other + token.slice(at + 1)), `character ${at}`).toBe(false)
    }
    expect(await lives(`${token}A`)).toBe(false)
    expect(await lives(token.replace('hvb.', 'hvs.'))).toBe(false)
  })

  test('of a login is invalid once the mount is disabled', async () => {
    const { path } = await freshMount()
    const account = freshAccount()
    const user = await aws.putUser({ account, name: 'worker' })
    const keys = await aws.createAccessKey({ account, user: 'worker' })
    const role = fresh('role')
    await done('POST', `${path}/role/${role}`, {
      bound_iam_principal_arn: user.arn,
      resolve_aws_unique_ids: false,
      token_type: 'batch',
    })
    const { body } = await loginWith(path, keys, { role })
    const { client_token: token, accessor, token_type: type } = body.auth
    expect([accessor, type, await lives(token)]).toEqual(['', 'batch', true])
    await done('DELETE', `/sys${path}`)
    expect(await lives(token)).toBe(false)
  })
})
