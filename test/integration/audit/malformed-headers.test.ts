import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../support/service/api.ts'
import { auditEntries, auditText } from '../../support/service/audit.ts'
import { api, cluster, fresh, freshMount } from '../../support/service/cluster.ts'

const SECRET = fresh('secret-')
const entriesOf = ({ headers }: Reply) =>
  auditEntries().filter(({ request }) => request?.id === headers['x-request-id'])
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('malformed header fields are audited, and appear only as HMACs: GHSA-8xxq-mq9m-xmhw', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
  })

  const parts = {
    iam_http_request_method: 'POST',
    iam_request_body: base64('Action=GetCallerIdentity'),
    iam_request_url: base64('https://sts.amazonaws.com/'),
  }
  test.each<[string, unknown]>([
    ['a line of text', `Authorization: ${SECRET}`],
    ['truncated base64', `${base64(`{"Authorization": ["${SECRET}"]}`).slice(0, -3)}`],
    ['base64 of malformed JSON', base64(`{"Authorization": ["${SECRET}"`)],
    ['a list', [`Authorization: ${SECRET}`, { [SECRET]: SECRET }]],
    ['nested objects', { Authorization: { [SECRET]: SECRET } }],
    ['a name with a line feed', { [`${SECRET}\r\n`]: [SECRET] }],
    ['a value with a line feed and a NUL', { Authorization: [`${SECRET}\r\n\u0000X: ${SECRET}`] }],
  ])('iam_request_headers as %s', async (_title, iam_request_headers) => {
    const reply = await api(
      'POST',
      `${mount}/login`,
      { ...parts, role: 'x', iam_request_headers },
      { token: '' },
    )
    expect([reply.status, reply.text.includes(SECRET)]).toEqual([400, false])
    const entries = entriesOf(reply)
    expect(entries.map(({ audit }) => audit)).toEqual(['request', 'response'])
    for (const { request } of entries)
      expect(request.data.iam_request_headers).toMatch(/^hmac-sha256:[0-9a-f]{64}$/)
    expect(entries[1]).toMatchObject({ response: { status: 400 }, message: reply.body.errors[0] })
  })

  test('iam_request_headers with half a surrogate pair: the entries have no request data', async () => {
    const iam_request_headers = { Authorization: [`${SECRET}\ud800`] }
    const reply = await api(
      'POST',
      `${mount}/login`,
      { ...parts, role: 'x', iam_request_headers },
      { token: '' },
    )
    expect([reply.status, reply.text.includes(SECRET)]).toEqual([400, false])
    expect(entriesOf(reply).map(({ audit, request }) => [audit, request.data])).toEqual([
      ['request', {}],
      ['response', {}],
    ])
  })

  test.each<[string, Record<string, string>]>([
    ['Authorization without a scheme', { authorization: SECRET }],
    ['Authorization of another scheme', { authorization: `Basic ${base64(SECRET)}` }],
    ['X-Vault-Token with an invalid character', { 'x-vault-token': `${SECRET}\u00ff` }],
    ['X-Forwarded-For without addresses', { 'x-forwarded-for': `${SECRET}, ;;` }],
    ['X-Vault-Wrap-Format with an unknown format', { 'x-vault-wrap-format': SECRET }],
    ['X-Vault-MFA with an invalid value', { 'x-vault-mfa': `${SECRET}:=:` }],
    ['X-Vault-Policy-Override without a boolean', { 'x-vault-policy-override': SECRET }],
  ])('a malformed request header: %s', async (_title, headers) => {
    const reply = await api('GET', '/auth/token/lookup-self', undefined, { token: '', headers })
    expect([reply.status, reply.text.includes(SECRET)]).toEqual([403, false])
    const entries = entriesOf(reply)
    expect(entries.map(({ audit }) => audit)).toEqual(['request', 'response'])
  })

  test('an error about a malformed header does not repeat the header', async () => {
    for (const headers of [{ 'x-vault-wrap-ttl': SECRET }, { 'x-vault-namespace': `../${SECRET}` }]) {
      const reply = await api('GET', '/auth/token/lookup-self', undefined, { headers })
      expect([reply.status, reply.text.includes(SECRET)]).toEqual([400, false])
    }
  })

  test('no log contains the secret', () => {
    for (const text of [auditText(), readFileSync(`${cluster.directory}/functions.log`, 'utf8')])
      expect(text.includes(SECRET) || text.includes(base64(SECRET).slice(0, -4))).toBe(false)
  })
})
