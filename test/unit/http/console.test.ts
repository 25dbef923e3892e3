import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { pathToFileURL } from 'node:url'
import type { Context } from 'aws-lambda'
import { afterAll, describe, expect, test } from 'vitest'
import { readConsoleSettings } from '../../../shared/adapters/aws/environment.ts'
import { createConsoleHandler } from '../../../shared/http/console.ts'
import { allowReadsFromOrigin } from '../../../shared/http/cross-origin.ts'
import type { FrontAnswer, FrontEvent } from '../../../shared/http/events.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-page-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
for (const file of ['index.html', 'page.js', 'style.css'])
  writeFileSync(`${folder}/${file}`, `the text of ${file}`)

const context = {} as Context
const other = async (): Promise<FrontAnswer> => ({
  statusCode: 404,
  headers: { 'content-type': 'application/json' },
  multiValueHeaders: { 'content-type': ['application/json'] },
  body: '{"errors":["unsupported path"]}',
  isBase64Encoded: false,
})
const event = (path: string, method = 'GET', headers: Record<string, string> = {}): FrontEvent => ({
  version: '2.0',
  rawPath: path,
  headers,
  requestContext: { requestId: 'r', http: { method, sourceIp: '192.0.2.1' } },
})
const balanced = (path: string, headers: Record<string, string[]> = {}): FrontEvent => ({
  httpMethod: 'GET',
  path,
  multiValueHeaders: { 'x-forwarded-for': ['192.0.2.1'], ...headers },
  requestContext: { elb: {} },
})

describe('the console page', () => {
  const at = { isServed: true, peer: 'https://east.example.com', folder: pathToFileURL(`${folder}/`) }
  const page = createConsoleHandler(at, other)

  test.each([
    ['/ui/', 'text/html; charset=utf-8', 'the text of index.html'],
    ['/ui/page.js', 'text/javascript; charset=utf-8', 'the text of page.js'],
    ['/ui/style.css', 'text/css; charset=utf-8', 'the text of style.css'],
    ['/ui/settings.json', 'application/json', '{"peer":"https://east.example.com"}'],
  ])('%s', async (path, type, body) => {
    const answer = await page(event(path), context)
    expect(answer).toMatchObject({ statusCode: 200, body, headers: { 'content-type': type } })
    expect((await page(event(path, 'HEAD'), context)).body).toBe('')
    expect(answer.headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' https://east.example.com; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  })

  test("the path without a trailing slash redirects to the page, whatever the API's base path", async () => {
    expect(await page(event('/ui'), context)).toMatchObject({ statusCode: 302, headers: { location: 'ui/' } })
  })

  test.each([
    '/ui/index.html',
    '/ui/../index.mjs',
    '/ui/constructor',
    '/ui//',
    '/uix',
    '/v1/ui/',
    '/ui/page.js.map',
  ])('%s is not a file of the page and reaches the API handler', async path =>
    expect((await page(event(path), context)).statusCode).toBe(404),
  )

  test('requests that write reach the API handler', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect((await page(event('/ui/', method), context)).statusCode, method).toBe(404)
  })

  test('behind a load balancer the page has the same headers', async () => {
    const { multiValueHeaders } = await page(balanced('/ui/'), context)
    expect(multiValueHeaders?.['content-security-policy']).toEqual([
      expect.stringContaining("frame-ancestors 'none'"),
    ])
  })

  test('without a peer the page may request only its own origin, and if switched off it is not served', async () => {
    const alone = await createConsoleHandler({ ...at, peer: '' }, other)(event('/ui/'), context)
    expect(alone.headers['content-security-policy']).toContain("connect-src 'self';")
    expect(createConsoleHandler({ ...at, isServed: false }, other)).toBe(other)
  })
})

describe('responses that the page of another cluster may read', () => {
  const ORIGIN = 'https://east.example.com'
  const from = (origin: string) => ({ origin })
  const handler = allowReadsFromOrigin(ORIGIN, other)
  const allowed = async (path: string, origin = ORIGIN, method = 'GET') =>
    (await handler(event(path, method, from(origin)), context)).headers['access-control-allow-origin']

  test.each(['/v1/sys/health', '/v1/sys/replication/dr/status'])(
    "the page of the peer's origin, and of no other origin, may read %s",
    async path => {
      expect(await allowed(path)).toBe(ORIGIN)
      for (const origin of [
        'https://evil.example.com',
        `${ORIGIN}.evil.example.com`,
        'null',
        '',
        'https://EAST.example.com',
        '*',
      ])
        expect(await allowed(path, origin), origin).toBeUndefined()
      const answer = await handler(event(path, 'GET', from('https://evil.example.com')), context)
      expect(answer.headers['vary']).toBe('Origin')
    },
  )

  test.each([
    '/v1/sys/seal-status',
    '/v1/sys/leader',
    '/v1/sys/replication/status',
    '/v1/sys/replication/dr/readiness',
    '/v1/sys/health/',
    '/v1/sys/replication/dr/secondary/promote',
    '/v1/SYS/health',
  ])('%s gets no CORS header', async path => expect(await allowed(path)).toBeUndefined())

  test('only GET is allowed, so browsers send no preflight request', async () => {
    for (const method of ['OPTIONS', 'POST', 'PUT', 'HEAD'])
      expect(await allowed('/v1/sys/health', ORIGIN, method), method).toBeUndefined()
  })

  test('credentials are never allowed, also behind a load balancer', async () => {
    const answer = await handler(balanced('/v1/sys/health', { origin: [ORIGIN] }), context)
    expect(answer.multiValueHeaders).toMatchObject({
      'access-control-allow-origin': [ORIGIN],
      vary: ['Origin'],
      'content-type': ['application/json'],
    })
    expect(JSON.stringify(answer)).not.toContain('allow-credentials')
  })

  test('without an allowed origin the handler is unchanged', () =>
    expect(allowReadsFromOrigin('', other)).toBe(other))
})

test('environment variables set whether the console page is served, its peer and the allowed origin', () => {
  expect(readConsoleSettings({})).toEqual({ isServed: false, peer: '', origin: '' })
  expect(
    readConsoleSettings({ CONSOLE: 'true', CONSOLE_PEER: 'https://e', CONSOLE_ORIGIN: 'https://o' }),
  ).toEqual({ isServed: true, peer: 'https://e', origin: 'https://o' })
})
