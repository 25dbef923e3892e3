import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { BadValueError, type ParameterField } from '../../../shared/api/fields.ts'
import { filled, ways } from '../../support/requests/endpoints.ts'
import { api, cluster, done, fresh, freshMount } from '../../support/service/cluster.ts'

const SECRET = fresh('secret-')

const cannotBeRead = (field: ParameterField<unknown>, value: unknown): boolean => {
  try {
    field.read(value)
    return false
  } catch (error) {
    return error instanceof BadValueError
  }
}

const shapes = [SECRET, [{ [SECRET]: SECRET }], { a: SECRET, [SECRET]: { a: SECRET } }]

const rows = ways.flatMap(({ title, endpoint, path }) =>
  Object.entries(endpoint.fields).flatMap(([name, field]) => {
    const values = shapes.filter(value => cannotBeRead(field, value))
    return endpoint.method === 'POST' && values.length > 0 ? [{ title, path, name, values }] : []
  }),
)

describe('error answers never repeat a value of the wrong type: CVE-2025-4166, HCSEC-2025-09, CVE-2025-52893, GHSA-8xxq-mq9m-xmhw', () => {
  let mount = ''
  let token = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    token = (await done('POST', '/auth/token/create', { policies: 'root', ttl: '1h' })).body.auth.client_token
  })

  test.each(rows)('$title: $name', async ({ path, name, values }) => {
    for (const value of values) {
      const reply = await api('POST', filled(path, mount), { [name]: value }, { token })
      // 404: the handler finds no item at the path before it reads the field
      expect([400, 404], JSON.stringify(value)).toContain(reply.status)
      expect(reply.text).not.toContain(SECRET)
    }
  })

  const base64 = (text: string) => Buffer.from(text).toString('base64')
  test.each<[string, unknown]>([
    ['a line of text', `Authorization: ${SECRET}`],
    ['truncated JSON', `{"Authorization": ["${SECRET}"`],
    ['truncated JSON in base64', base64(`{"Authorization": ["${SECRET}"`)],
    ['a list', [`Authorization: ${SECRET}`, { [SECRET]: SECRET }]],
    ['an object of objects', { Authorization: { [SECRET]: SECRET } }],
    ['an object with an invalid header name', { [`${SECRET}\r\n`]: [SECRET] }],
  ])(
    'an error about malformed iam_request_headers does not repeat these headers: %s',
    async (_title, iam_request_headers) => {
      const signed = { iam_http_request_method: 'POST', iam_request_body: base64('Action=GetCallerIdentity') }
      const login = { ...signed, iam_request_url: base64('https://sts.amazonaws.com/'), role: 'x' }
      const reply = await api('POST', `${mount}/login`, { ...login, iam_request_headers }, { token: '' })
      expect([reply.status, reply.text.includes(SECRET)]).toEqual([400, false])
    },
  )

  test('neither the audit log nor the function log contains the secret value', () => {
    expect(rows.length).toBeGreaterThan(50)
    for (const file of ['audit.log', 'functions.log'])
      expect(readFileSync(`${cluster.directory}/${file}`, 'utf8')).not.toContain(SECRET)
  })
})
