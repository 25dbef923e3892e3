import { beforeEach, describe, expect, test } from 'vitest'
import type { ResponseAuth } from '../../../shared/api/call.ts'
import { lives, lookUp, make, tryMake } from '../../support/requests/tokens.ts'
import { api, done, fresh } from '../../support/service/cluster.ts'

const BIG = 'x'.repeat(500_000)

describe('hostile input to the token endpoints', () => {
  test.each([
    ['policies', { policies: [{}] }],
    ['policies', { policies: [['root']] }],
    ['policies', { policies: ['a:b'] }],
    ['policies', { policies: ['a\u0000b'] }],
    ['policies', { policies: ['ｒｏｏｔ'] }],
    ['policies', { policies: ['dev:ops'] }],
    ['meta', { meta: 'text' }],
    ['meta', { meta: [1] }],
    ['meta', { meta: { a: { b: 1 } } }],
    ['ttl', { ttl: 'SECRET' }],
    ['ttl', { ttl: -1 }],
    ['ttl', { ttl: 1.5 }],
    ['ttl', { ttl: 2 ** 31 }],
    ['period', { period: '-5s' }],
    ['explicit_max_ttl', { explicit_max_ttl: '1 h' }],
    ['num_uses', { num_uses: -1 }],
    ['num_uses', { num_uses: 1.5 }],
    ['num_uses', { num_uses: 2 ** 60 }],
    ['type', { type: 'default-service' }],
    ['type', { type: 'constructor' }],
    ['renewable', { renewable: 'perhaps' }],
    ['display_name', { display_name: { a: 'SECRET' } }],
  ])('create rejects an invalid %s: %j', async (_, given) => {
    const refused = await tryMake(given)
    expect(refused.status, refused.text).toBe(400)
    expect(refused.text).not.toContain('SECRET')
  })

  test.each([
    ['meta', { meta: { big: BIG } }],
    ['display_name', { display_name: BIG }],
    [
      'policies',
      { policies: Array.from({ length: 9000 }, (_, index) => `policy-${index}-${'x'.repeat(60)}`) },
    ],
  ])('create rejects a %s that is too large to store', async (_, given) => {
    const refused = await tryMake({ ttl: '1m', ...given })
    expect([400, 413], refused.text).toContain(refused.status)
  })

  test('names of built-in object properties work as policy names', async () => {
    for (const name of ['constructor', '__proto__', 'tostring', 'valueof', 'hasownproperty']) {
      const made = await tryMake({ policies: [name] })
      expect(made.body.warnings, name).toEqual([`policy "${name}" does not exist`])
      expect(await lives(made.body.auth.client_token), name).toBe(true)
      expect((await api('GET', `/sys/policies/acl/${name}`)).status, name).toBe(404)
    }
  })

  test.each([
    [
      'names of built-in object properties',
      { constructor: 'x', toString: 'y' },
      { constructor: 'x', toString: 'y' },
    ],
    ['numbers and booleans', { a: 1, b: true, c: null }, { a: '1', b: '1', c: '' }],
    ['unicode and control characters', { 'ä\u0000': '🔑\n' }, { 'ä\u0000': '🔑\n' }],
  ])('metadata with %s is stored as strings', async (_, meta, expected) => {
    const made = await tryMake({ policies: 'default', ttl: '1h', meta })
    expect(made.status, made.text).toBe(200)
    expect((await lookUp(made.body.auth.client_token))['meta']).toEqual(expected)
  })

  test.each(['', '__proto__'])('metadata under the name %j is rejected', async name => {
    const refused = await tryMake({ ttl: '1h', meta: JSON.parse(`{${JSON.stringify(name)}: "x"}`) })
    expect(refused.status, refused.text).toBe(400)
  })

  test('the last of repeated JSON members counts, and null counts as absent', async () => {
    const twice = await done('POST', '/auth/token/create', '{"ttl":"1h","ttl":"2h","policies":"default"}')
    expect(twice.body.auth.lease_duration).toBe(7200)
    expect((await make({ policies: 'default', ttl: null, meta: null, num_uses: null })).metadata).toBeNull()
  })

  describe('a string that is not a token', () => {
    let parent: ResponseAuth
    let child: ResponseAuth
    beforeEach(async () => {
      parent = await make({ policies: 'root', ttl: '1h' })
      child = await make({ policies: 'default', ttl: '1h' }, { token: parent.client_token })
    })
    test.each<[string, () => string]>([
      ['an unknown string', () => fresh()],
      ['an unknown service token', () => `hvs.${'0'.repeat(29)}`],
      ['an invalid batch token', () => 'hvb.AAAA'],
      ['a batch token without content', () => 'hvb.1.'],
      ['a token in the old format', () => 's.abcdefghijklmnopqrstuvwx'],
      ['a storage key', () => `token#${parent.accessor}`],
      ['the beginning of a token', () => parent.client_token.slice(0, -1)],
      ['the beginning of an accessor', () => parent.accessor.slice(0, -1)],
      ['a token with a line end', () => `${parent.client_token}\n`],
      ['unicode', () => '🔑'.repeat(50)],
      ['control characters', () => 'a\u0000\r\nb'],
      ['a very long string', () => BIG],
    ])('is neither a token nor an accessor, and revokes nothing: %s', async (_, text) => {
      const token = text()
      expect((await api('POST', '/auth/token/lookup', { token })).status).toBe(403)
      expect((await api('POST', '/auth/token/renew', { token })).status).toBe(400)
      expect((await api('POST', '/auth/token/revoke-orphan', { token })).status).toBe(400)
      expect((await api('POST', '/auth/token/lookup-accessor', { accessor: token })).status).toBe(400)
      expect((await api('POST', '/auth/token/renew-accessor', { accessor: token })).status).toBe(400)
      const revoked = await api('POST', '/auth/token/revoke-accessor', { accessor: token })
      expect([revoked.status, revoked.body?.warnings]).toEqual([200, ['no token has this accessor']])
      const batch = token.startsWith('hvb.')
      expect((await api('POST', '/auth/token/revoke', { token })).status).toBe(batch ? 400 : 204)
      expect(await lookUp(parent.client_token)).toMatchObject({ accessor: parent.accessor, orphan: false })
      expect(await lookUp(child.client_token)).toMatchObject({ accessor: child.accessor, orphan: false })
    })
  })

  test.each(['lookup-accessor', 'renew-accessor', 'revoke-accessor'])('%s needs an accessor', async path => {
    for (const accessor of [undefined, '', null])
      expect((await api('POST', `/auth/token/${path}`, { accessor })).status).toBe(400)
  })

  test.each(['renew', 'revoke', 'revoke-orphan'])('%s needs a token', async path => {
    for (const token of [undefined, '', null])
      expect((await api('POST', `/auth/token/${path}`, { token })).status).toBe(400)
  })

  test('an accessor cannot be used as token, nor a token as accessor', async () => {
    const made = await make({ policies: 'default' })
    expect(await lives(made.accessor)).toBe(false)
    const wrong = await api('POST', '/auth/token/lookup-accessor', { accessor: made.client_token })
    expect(wrong.status).toBe(400)
    expect(await lookUp(made.client_token)).toMatchObject({ accessor: made.accessor })
  })
})
