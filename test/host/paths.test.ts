import { beforeAll, describe, expect, test } from 'vitest'
import { iamRole } from '../support/requests/things.ts'
import { api, cluster, done, freshMount } from '../support/service/cluster.ts'
import { raw } from '../support/service/raw.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
  for (const name of ['one', 'a.b', 'a-b_1', '0']) await done('POST', `${mount}/role/${name}`, iamRole.body)
})

/** Like `api`, but sends the path without normalisation. */
const get = (path: string, method = 'GET') =>
  raw([`${method} ${path} HTTP/1.1`, `X-Vault-Token: ${cluster.root_token}`])

describe('a path that is not canonical is rejected first', () => {
  const rows: [path: string, text: string][] = [
    ['//roles', 'the path holds an empty segment'],
    ['/role//one', 'the path holds an empty segment'],
    ['/role/%2Fone', 'the path holds an empty segment'],
    ['/role/one//', 'the path holds an empty segment'],
    ['/./roles', 'the path holds a dot segment'],
    ['/%2e/roles', 'the path holds a dot segment'],
    ['/role/x/../one', 'the path holds a dot segment'],
    ['/role/x/%2E%2e/one', 'the path holds a dot segment'],
    ['/role/x%2f..%2fone', 'the path holds a dot segment'],
    ['/role/one/..', 'the path holds a dot segment'],
    ['/role/one%00', 'the path holds an illegal character'],
    ['/role/%0aone', 'the path holds an illegal character'],
    ['/role/one%7f', 'the path holds an illegal character'],
    ['/role\\one', 'the path holds an illegal character'],
    ['/role%5cone', 'the path holds an illegal character'],
  ]
  test.each(rows)('%s', async (path, text) => {
    for (const method of ['GET', 'LIST', 'DELETE']) {
      const reply = await get(`/v1${mount}${path}`, method)
      expect([reply.status, reply.text]).toEqual([400, JSON.stringify({ errors: [text] })])
    }
    expect((await api('GET', mount + path, undefined, { token: '' })).status).toBe(400)
  })

  test('also for endpoints without authentication', async () => {
    for (const path of ['/v1/sys//health', '/v1/./sys/health', '/v1/sys/x/../health'])
      expect((await get(path)).status).toBe(400)
  })
})

describe('names in paths', () => {
  test.each(['one', 'ONE', 'a.b', 'a-b_1', '0', 'o%6Ee'])('%s names an existing role', async name => {
    expect((await api('GET', `${mount}/role/${name}`)).status).toBe(200)
  })

  const odd = [
    '-one',
    'one-',
    '.one',
    'one.',
    'one%20',
    '%20one',
    'one%2Ftag',
    'one;x',
    'one%23',
    'on%C3%A9',
    'on%E2%84%AA',
    'one+',
    '*',
    '%25',
    '%ff',
    '%',
    'one%',
    '%zz',
    'one,two',
    'one%26',
    'one:1',
    "'one'",
    '%22one%22',
    '__proto__',
    'constructor',
    'x'.repeat(2000),
  ]
  test.each(odd)('%s names no role', async name => {
    const { status, text } = await get(`/v1${mount}/role/${name}`)
    expect([400, 404, 405]).toContain(status)
    expect(text).not.toContain('auth_type')
    expect((await get(`/v1${mount}/role/${name}/`)).status).toBeGreaterThanOrEqual(400)
  })

  test('names of built-in object properties work as role names', async () => {
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty']) {
      await done('POST', `${mount}/role/${name}`, iamRole.body)
      expect((await api('GET', `${mount}/role/${name}`)).body.data.auth_type).toBe('iam')
      await done('DELETE', `${mount}/role/${name}`)
    }
  })
})

describe('other request targets', () => {
  const targets = [
    '/',
    '/v1',
    '/v1/',
    '/v2/sys/health',
    '/V1/sys/health',
    '/sys/health/x',
    '/favicon.ico',
    '/v1/sys/health/',
    '/v1/SYS/health',
    '/v1/v1/sys/health',
    '/ui/x',
    '/UI/',
    `/v1/${'a/'.repeat(2000)}`,
    '*',
    'http://127.0.0.1/v1/auth/token/accessors',
    'x',
  ]
  test.each(targets)('%s is rejected', async target => {
    const { status, text } = await get(target)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(text).not.toContain('data')
  })

  test('a query changes nothing except list and help', async () => {
    for (const query of ['', 'x', '=', '&&', 'a=%', '%00=1', `a=${'b'.repeat(5000)}`, '?', '#x'])
      expect(await get(`/v1/sys/init?${query}`), query).toEqual({ status: 200, text: '{"initialized":true}' })
    expect(await get('/v1/sys/init?list')).toMatchObject({
      status: 400,
      text: expect.stringContaining('list must be true or false'),
    })
    expect((await get('/v1/sys/init?help=1')).text).toContain(
      '## GET: Report whether the cluster is initialised',
    )
  })
})
