import { describe, expect, test } from 'vitest'
import { errorCodes } from '../../shared/api/errors.ts'
import { errorsOf, NO_NAMESPACE } from '../support/requests/logins.ts'
import { api, cluster, done, fresh } from '../support/service/cluster.ts'
import { raw } from '../support/service/raw.ts'

const root = cluster.root_token
const wrong = () => `hvs.${fresh()}`
const self = '/auth/token/lookup-self'

describe('headers with the token', () => {
  const accepted: [title: string, headers: Record<string, string>][] = [
    ['X-Vault-Token', { 'X-Vault-Token': root }],
    ['x-vault-token', { 'x-vault-token': root }],
    ['X-Service-Token', { 'X-Service-Token': root }],
    ['Authorization', { Authorization: `Bearer ${root}` }],
    ['Authorization with an empty X-Vault-Token', { 'X-Vault-Token': '', Authorization: `Bearer ${root}` }],
    ['X-Vault-Token over Authorization', { 'X-Vault-Token': root, Authorization: `Bearer ${wrong()}` }],
    ['X-Vault-Token over X-Service-Token', { 'X-Vault-Token': root, 'X-Service-Token': wrong() }],
    ['the bearer token after another scheme', { Authorization: `Basic dTpw, Bearer ${root}` }],
    ['the bearer token before another scheme', { Authorization: `Bearer ${root},Basic dTpw` }],
    [
      'X-Vault-Token with other headers of official clients',
      {
        'X-Vault-Token': root,
        'X-Vault-Request': 'true',
        'X-Vault-Index': 'v1:x',
        'X-Vault-Forward': 'active-node',
        'X-Vault-MFA': 'x',
        'X-Vault-Policy-Override': 'true',
        'X-Vault-Inconsistent': 'forward-active-node',
      },
    ],
  ]
  test.each(accepted)('accepted: %s', async (_, headers) => {
    const { status, body } = await api('GET', self, undefined, { token: '', headers })
    expect([status, body?.data.id]).toEqual([200, root])
  })

  test.each([
    ['Basic dTpw', `Bearer ${root}`],
    [`Bearer ${root}`, 'Basic dTpw'],
  ])('accepted: one of several Authorization lines', async (...values) => {
    const lines = values.map(value => `Authorization: ${value}`)
    expect((await raw(['GET /v1/auth/token/lookup-self HTTP/1.1', ...lines])).status).toBe(200)
  })

  const refused: [title: string, headers: Record<string, string>][] = [
    ['none', {}],
    ['Bearer in lower case', { Authorization: `bearer ${root}` }],
    ['Bearer with two blanks', { Authorization: `Bearer  ${root}` }],
    ['Authorization without a scheme', { Authorization: root }],
    ['Bearer as part of a word', { Authorization: `XBearer ${root}` }],
    [
      'a wrong X-Vault-Token with a valid bearer token',
      { 'X-Vault-Token': wrong(), Authorization: `Bearer ${root}` },
    ],
    ['in a cookie', { Cookie: `X-Vault-Token=${root}` }],
    ['text after the token', { 'X-Vault-Token': `${root} x` }],
  ]
  test.each(refused)('rejected: %s', async (_, headers) => {
    const { status, body } = await api('GET', self, undefined, { token: '', headers })
    // a string that was sent as a token gets the error for invalid tokens
    const { permission_denied: none, invalid_token: wrong } = errorCodes
    const isSent = 'X-Vault-Token' in headers || headers['Authorization']?.startsWith('Bearer ')
    const { always } = isSent ? wrong : none
    expect([status, body]).toEqual([403, { errors: [always] }])
  })

  test('rejected: a token in the query', async () => {
    expect(
      (await api('GET', `${self}?token=${root}&X-Vault-Token=${root}`, undefined, { token: '' })).status,
    ).toBe(403)
  })

  test('a request with two Host headers is 400', async () => {
    // the helper `raw` can send another Host header
    expect((await raw(['GET /v1/sys/health HTTP/1.1', 'Host: a.example'])).status).toBe(400)
  })

  test('rejected: two lines of one header', async () => {
    const line = `X-Vault-Token: ${root}`
    expect((await raw(['GET /v1/auth/token/lookup-self HTTP/1.1', line, line])).status).toBe(403)
  })

  test.each(['x-vault-token', 'x-service-token', 'authorization'])(
    'a token over 8 KiB is rejected: %s',
    async name => {
      const send = (length: number) => {
        const value = 'x'.repeat(length)
        const headers = { [name]: name === 'authorization' ? `Bearer ${value}` : value }
        return api('GET', self, undefined, { token: '', headers })
      }
      expect((await send(8192)).status).toBe(403)
      const { status, text } = await send(8193)
      expect([status, text]).toEqual([431, '{"errors":["the token is too long"]}'])
    },
  )
})

describe('the namespace header: GHSA-mwr2-wmgp-crj6, CVE-2026-55775', () => {
  const headers = ['X-Vault-Namespace', 'X-Service-Namespace']
  const rows: [namespace: string, status: number][] = [
    ['', 200],
    ['/', 200],
    ['root', 200],
    ['root/', 200],
    ['/root', 200],
    ['ROOT', 404],
    ['root/root', 404],
    ['other', 404],
    ['a/b', 404],
    ['%72oot', 404],
    ['a//b', 400],
    ['//', 400],
    ['root//', 400],
    ['.', 400],
    ['a/../', 400],
    ['root/..', 400],
    ['./root', 400],
  ]
  test.each(headers.flatMap(name => rows.map(([value, status]) => [name, value, status] as const)))(
    '%s: "%s" answers %i',
    async (name, value, status) => {
      const reply = await api('GET', self, undefined, { headers: { [name]: value } })
      expect(reply.status, reply.text).toBe(status)
      if (status === 404) expect(errorsOf(reply)).toBe(NO_NAMESPACE)
    },
  )

  test('counts under each of its two names, even if one of the two headers is empty', async () => {
    for (const [one, other] of [headers, headers.toReversed()])
      expect(
        (await api('GET', self, undefined, { headers: { [`${one}`]: '', [`${other}`]: 'a' } })).status,
      ).toBe(404)
  })

  test.each(['/root', '/a', '/a/b'])('in front of the path answers 404: %s', async prefix => {
    const reply = await api('GET', prefix + self)
    expect([reply.status, errorsOf(reply)]).toEqual([404, NO_NAMESPACE])
  })

  test('is rejected before authentication, and at the login', async () => {
    const options = { token: '', headers: { 'X-Vault-Namespace': 'other' } }
    for (const [method, path] of [
      ['GET', self],
      ['POST', '/auth/cloud/login'],
      ['GET', '/sys/health'],
    ] as const)
      expect((await api(method, path, undefined, options)).status).toBe(404)
  })
})

describe('response wrapping', () => {
  const wrapped = (ttl: string, name = 'X-Vault-Wrap-TTL') =>
    api('GET', self, undefined, { headers: { [name]: ttl } })

  test.each(['X-Vault-Wrap-TTL', 'X-Service-Wrap-TTL'])('by %s returns only a wrapping token', async name => {
    const { status, body } = await wrapped('2m', name)
    expect([status, body.data, body.auth]).toEqual([200, null, null])
    expect(body.wrap_info).toEqual({
      token: expect.stringMatching(/^hvs\./),
      accessor: expect.stringMatching(/./),
      ttl: 120,
      creation_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      creation_path: 'auth/token/lookup-self',
    })
    const inside = await done('POST', '/sys/wrapping/unwrap', undefined, { token: body.wrap_info.token })
    expect(inside.body.data.id).toBe(root)
  })

  test('is not done for a TTL of 0', async () => {
    expect((await wrapped('0')).body.data.id).toBe(root)
  })

  test.each(['x', '1.5', '-1', '5 m', '1h1', '9999999999999'])('with the TTL "%s" is rejected', async ttl => {
    expect((await wrapped(ttl)).status).toBe(400)
  })

  test('is not done for an empty answer', async () => {
    const options = { headers: { 'X-Vault-Wrap-TTL': '60' } }
    expect((await api('DELETE', `/sys/policies/acl/${fresh('p')}`, undefined, options)).status).toBe(204)
    expect((await api('GET', `/sys/policies/acl/${fresh('p')}`, undefined, options)).status).toBe(404)
  })
})
