import { once } from 'node:events'
import { connect } from 'node:net'
import type { Context } from 'aws-lambda'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HttpApiAnswer, HttpEvent } from '../../../shared/front/http-api.ts'
import { serveWebFunction } from '../../../shared/front/web-function.ts'
import { bounds } from '../../../shared/values/bounds.ts'

type Handler = (event: HttpEvent, context: Context) => Promise<HttpApiAnswer>

const closers: (() => Promise<void>)[] = []
/** Records the lines that the program writes to the console. */
const said = vi.fn<(line: unknown) => void>()
beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(said)
})
afterEach(async () => {
  said.mockReset()
  vi.restoreAllMocks()
  vi.useRealTimers()
  await Promise.all(closers.splice(0).map(close => close()))
})

async function served(handler: Handler): Promise<string> {
  const { url, close } = await serveWebFunction(handler, { host: '127.0.0.1', port: 0 })
  closers.push(close)
  return url
}

/** A handler that returns its event as the response. */
const echo: Handler = async event => ({ statusCode: 200, body: JSON.stringify(event) })
const echoed = async (path: string, options?: RequestInit): Promise<HttpEvent> =>
  (await (await fetch(`${await served(echo)}${path}`, options)).json()) as HttpEvent

/** Sends bytes to a server, and reads until the connection ends. */
async function exchange(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.setEncoding('utf8')
  let answer = ''
  socket.on('data', (chunk: string) => {
    answer += chunk
  })
  socket.write(text)
  await once(socket, 'close')
  return answer
}

describe('converting requests of a Web Function to HTTP API events', () => {
  test('the path is decoded once, and query, body and verb stay as sent', async () => {
    const event = await echoed('/v1/auth/a%2525b/login?x=%20y', { method: 'PUT', body: '{"a":1}' })
    expect(event).toMatchObject({
      version: '2.0',
      rawPath: '/v1/auth/a%25b/login',
      rawQueryString: 'x=%20y',
      body: '{"a":1}',
      isBase64Encoded: false,
      requestContext: { http: { method: 'PUT' } },
    })
  })

  test('the client is the last address of X-Forwarded-For, which Lambda appends', async () => {
    const chain = { 'x-forwarded-for': '203.0.113.9, 198.51.100.1,192.0.2.7' }
    const { requestContext } = await echoed('/', { headers: chain })
    expect(requestContext.http.sourceIp).toBe('192.0.2.7')
  })

  test('without X-Forwarded-For the client is the peer of the connection', async () => {
    expect((await echoed('/')).requestContext.http.sourceIp).toBe('127.0.0.1')
  })

  test("requests keep Lambda's request IDs, or get generated IDs", async () => {
    const numbered = await echoed('/', { headers: { 'lambda-web-request-id': 'NF5U6' } })
    expect(numbered.requestContext.requestId).toBe('NF5U6')
    const [one, other] = [await echoed('/'), await echoed('/')].map(event => event.requestContext.requestId)
    expect(one).toMatch(/^[\w-]{36}$/)
    expect(other).not.toBe(one)
  })

  test('the domain is that of the Lambda endpoint', async () => {
    const url = await served(echo)
    const head = 'GET / HTTP/1.1\r\nHost: abc.lambda-web.eu-west-1.on.aws\r\nConnection: close\r\n\r\n'
    const { requestContext } = JSON.parse((await exchange(url, head)).split('\r\n\r\n')[1] ?? '')
    expect(requestContext.domainName).toBe('abc.lambda-web.eu-west-1.on.aws')
  })
})

describe('requests that do not reach the handler', () => {
  test("the verb LIST is rejected, because Node's parser does not know it", async () => {
    const handler = vi.fn(echo)
    const url = await served(handler)
    expect(await exchange(url, 'LIST /v1/auth/cloud/login HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 /,
    )
    expect(handler).not.toHaveBeenCalled()
  })

  test('a body over a mebibyte gets 413, and the connection serves the next request', async () => {
    const handler = vi.fn(echo)
    const url = await served(handler)
    const large = await fetch(url, { method: 'POST', body: 'x'.repeat(2 ** 20 + 1) })
    expect(large.status).toBe(413)
    expect(handler).not.toHaveBeenCalled()
    const largest = await fetch(url, { method: 'POST', body: 'x'.repeat(2 ** 20) })
    expect(largest.status).toBe(200)
  })

  test('a head over 32 KB gets 431, and heads that CloudFront passes are accepted', async () => {
    const url = await served(echo)
    const head = (length: number) =>
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: ${'a'.repeat(length)}\r\n\r\n`
    expect(await exchange(url, head(33_000))).toMatch(/^HTTP\/1\.1 431 /)
    expect(await exchange(url, head(24_000))).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('concurrent requests', () => {
  test('each request has its own time-out and gets 503 when it is late', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const waiting = new Set<string>()
    const url = await served(async ({ rawPath }) => {
      if (!rawPath.endsWith('/late')) return { statusCode: 200, body: rawPath }
      waiting.add(rawPath)
      return new Promise<HttpApiAnswer>(() => undefined)
    })
    const ask = async (path: string): Promise<[number, string]> => {
      const reply = await fetch(url + path, { headers: { 'lambda-web-request-id': path } })
      return [reply.status, await reply.text()]
    }
    const paths = Array.from({ length: 64 }, (_, index) => (index % 8 === 0 ? `/${index}/late` : `/${index}`))
    const early = paths.filter(path => path.endsWith('/late'))
    const replies = new Map(paths.map(path => [path, ask(path)]))
    for (const path of paths) if (!early.includes(path)) expect(await replies.get(path)).toEqual([200, path])
    await vi.waitUntil(() => waiting.size === early.length)
    vi.advanceTimersByTime(10_000)
    const last = ask('/last/late')
    await vi.waitUntil(() => waiting.size === early.length + 1)
    vi.advanceTimersByTime(5_000)
    for (const path of early)
      expect(await replies.get(path)).toEqual([503, '{"message":"Service Unavailable"}'])
    // each request has logged a line with its own ID
    const numbers = () => said.mock.calls.map(([line]) => (line as { gateway_id: string }).gateway_id)
    expect(numbers().toSorted()).toEqual(early.toSorted())
    expect(said.mock.calls[0]?.[0]).toMatchObject({
      errorType: 'WebFunction.Timeout',
      errorMessage: 'Task timed out after 15 seconds',
    })
    vi.advanceTimersByTime(10_000)
    expect((await last)[0]).toBe(503)
    expect(numbers().at(-1)).toBe('/last/late')
  })

  test('an error of one request fails only that request with 500, and is logged', async () => {
    const url = await served(async event => {
      if (event.rawPath === '/broken') throw new Error('broken here')
      return echo(event, {} as Context)
    })
    const statuses = await Promise.all(
      ['/a', '/broken', '/b'].map(async path => (await fetch(url + path)).status),
    )
    expect(statuses).toEqual([200, 500, 200])
    expect(said.mock.calls).toEqual([
      [{ errorType: 'WebFunction.Error', errorMessage: 'broken here', gateway_id: expect.any(String) }],
    ])
  })

  test('the time-out is that of the login Lambda', async () => {
    const url = await served(async (_, context) => ({
      statusCode: 200,
      body: String(context.getRemainingTimeInMillis()),
    }))
    const left = Number(await (await fetch(url)).text())
    expect(left).toBeGreaterThan(bounds.LOGIN_SECONDS * 1000 - 2000)
    expect(left).toBeLessThanOrEqual(bounds.LOGIN_SECONDS * 1000)
  })
})
