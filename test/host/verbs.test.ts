import { beforeAll, describe, expect, test } from 'vitest'
import { changesRole, filled, ways } from '../support/requests/endpoints.ts'
import { iamRole } from '../support/requests/things.ts'
import { api, cluster, done, fresh, freshMount } from '../support/service/cluster.ts'
import { conversation, raw } from '../support/service/raw.ts'
import { isBalanced } from '../support/service/which-front.ts'

let mount = ''
let twin = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  ;({ path: twin } = await freshMount())
  await done('POST', `${mount}/role/one`, iamRole.body)
})

const NO_OPERATION = { errors: ['unsupported operation'] }
const A_LISTING = {
  errors: ['unsupported operation: this path is a listing: use the verb LIST, or GET with ?list=true'],
}

describe('POST and PUT are the same operation', () => {
  // other tests cover the endpoints that revoke the caller's token or can be called only once
  const once = ['/auth/token/revoke-self', '/sys/generate-root/attempt', '/sys/generate-root-token/attempt']
  const writes = ways.filter(
    ({ endpoint: { method, path } }) => method === 'POST' && !once.includes(path) && !changesRole(path),
  )

  // makes a fresh mount, because background work of an earlier request may still run
  const own = async (answers: string, shared: string) =>
    answers === 'accepted' ? (await freshMount()).path : shared

  test.each(writes)('$path', async ({ path: template, endpoint }) => {
    const answers = []
    const twins = [
      ['POST', await own(endpoint.answers, mount)],
      ['PUT', await own(endpoint.answers, twin)],
    ] as const
    for (const [method, at] of twins) {
      const { status, body } = await api(method, filled(template, at), { policies: 7 })
      answers.push([status, body?.errors])
    }
    const [posted, put] = answers.map(answer => JSON.stringify(answer).replace(/x[0-9a-f]{8}/g, 'x'))
    expect(put).toBe(posted)
  })
})

describe('a listing needs LIST or ?list=true', () => {
  const flags = ['1', 't', 'T', 'TRUE', 'true', 'True']
  const spellings: [method: string, path: string][] = [
    ['LIST', '/roles'],
    ['LIST', '/roles/'],
    ['LIST', '/role'],
    ['LIST', '/role/'],
    ['LIST', '/roles?list=false'],
    ...flags.flatMap(flag =>
      ['/roles', '/role/'].map((path): [string, string] => ['GET', `${path}?list=${flag}`]),
    ),
  ]
  test.each(spellings)('%s %s', async (method, path) => {
    const { status, body } = await api(method, mount + path)
    expect([status, body.data]).toEqual([200, { keys: ['one'] }])
  })

  test.each(['0', 'f', 'F', 'FALSE', 'false', 'False'])('list=%s reads the path', async flag => {
    expect((await api('GET', `${mount}/role/one?list=${flag}`)).body.data.auth_type).toBe('iam')
    expect((await api('GET', `${mount}/roles?list=${flag}`)).body).toEqual(A_LISTING)
  })

  test.each(['', 'yes', 'TrUe', '2', 'true ', 'null'])(
    'list=%s is rejected with the allowed values',
    async flag => {
      const { status, body } = await api('GET', `${mount}/roles?list=${encodeURIComponent(flag)}`)
      expect([status, body.errors]).toEqual([
        400,
        [
          `list must be true or false, not ${JSON.stringify(flag)}: a request with "?list=true" lists the path, and a request without list reads the path`,
        ],
      ])
    },
  )

  test('the verb LIST works several times on one connection, between other requests', async () => {
    const request = (line: string, ...more: string[]) =>
      [`${line} HTTP/1.1`, 'Host: x', `X-Vault-Token: ${cluster.root_token}`, ...more, '', ''].join('\r\n')
    const answers = await conversation(
      request(`LIST /v1${mount}/roles?after=a`),
      request(`POST /v1${mount}/role/one`, 'Content-Length: 2'),
      '{}',
      request(`LIST /v1${mount}/roles`) + request(`GET /v1${mount}/role/one`),
      request(`LIST /v1${mount}/role/`, 'Connection: close'),
    )
    expect(answers.match(/HTTP\/1\.1 \d+/g)?.map(line => line.slice(-3))).toEqual([
      '200',
      '204',
      '200',
      '200',
      '200',
    ])
    expect(answers.match(/"keys":\["one"\]/g)).toHaveLength(3)
  })
})

describe('unsupported verbs are rejected', () => {
  const paths = () => [
    `${mount}/role/one`,
    `${mount}/roles`,
    `${mount}/login`,
    '/sys/auth',
    '/auth/token/lookup-self',
  ]

  test.each(['OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'SEARCH', 'M-SEARCH', 'ACL'])('%s', async method => {
    for (const path of paths()) {
      const { status, body } = await api(method, path)
      expect([status, body], path).toEqual([405, NO_OPERATION])
    }
  })

  test.each(['get', 'post', 'list', 'resolve-role', 'renew', 'rollback', 'alias-lookahead', 'LISTX', 'G'])(
    '%s reads nothing and creates no token',
    async verb => {
      const line = `${verb} /v1${mount}/role/one HTTP/1.1`
      const { status, text } = await raw([line, `X-Vault-Token: ${cluster.root_token}`])
      expect([400, 405, 501]).toContain(status)
      expect(text).not.toMatch(/auth_type|client_token/)
    },
  )

  test('PATCH is refused for its content type first, then as an operation', async () => {
    const merge = { headers: { 'content-type': 'application/merge-patch+json' } }
    for (const path of paths()) {
      expect((await api('PATCH', path, '{}')).status, path).toBe(415)
      expect(
        (await api('PATCH', path, '{}', { headers: { 'content-type': 'application/json' } })).status,
      ).toBe(415)
      const { status, body } = await api('PATCH', path, '{}', merge)
      expect([status, body], path).toEqual([405, NO_OPERATION])
    }
  })

  test('HEAD has no content, and is supported only by sys/health', async () => {
    for (const path of paths()) {
      const { status, text } = await api('HEAD', path)
      expect([status, text], path).toEqual([405, ''])
    }
    const { status, text, headers } = await api('HEAD', '/sys/health')
    expect([status, text, headers['content-type']]).toEqual([200, '', 'application/json'])
  })
})

describe('DELETE', () => {
  test('ignores its body', async () => {
    const path = `${mount}/role/${fresh('d')}`
    const large = isBalanced() ? 'x'.repeat(1_000_000) : 'x'.repeat(1_100_000)
    for (const body of ['not JSON', '{"list":', '[]', '{"policies":{"a":1}}', large]) {
      await done('POST', path, iamRole.body)
      const { status, text } = await api('DELETE', path, body)
      expect([status, text]).toEqual([204, ''])
      expect((await api('GET', path)).status).toBe(404)
    }
  })
})
