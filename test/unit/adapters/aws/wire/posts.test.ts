import type { IncomingMessage, ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readWireSettings } from '../../../../../shared/adapters/aws/environment.ts'
import { CALL_TIMEOUT_MS, MAX_ANSWER_BYTES } from '../../../../../shared/adapters/aws/wire/limits.ts'
import { AwsServiceError } from '../../../../../shared/adapters/aws/wire/service-error.ts'
import { createSignedPost } from '../../../../../shared/adapters/aws/wire/signed-posts.ts'
import { createTableSend, createTablesOverHttp } from '../../../../../shared/adapters/aws/wire/tables.ts'
import { closedPort, rawServer, webServer } from '../../../../support/service/server.ts'

// Tests our HTTP client on real connections, against scripted servers.

const credentials = () => ({ accessKeyId: 'AK', secretAccessKey: 'secret' })
const settingsAt = (url: string) => readWireSettings({ AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: url })
const sendTo = (url: string) =>
  createTableSend(createTablesOverHttp({ settings: settingsAt(url), credentials }))
const scan = (url: string, ms?: number) => sendTo(url)('Scan', { TableName: 'data' }, { ms })

beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

const ITEMS = JSON.stringify({ Items: [{ pk: { S: 'a' } }] })
const items = { Items: [{ pk: 'a' }] }

/** Starts a server that runs the given actions in order, and repeats the last action. */
async function serverOf(...turns: ((response: ServerResponse, request: IncomingMessage) => void)[]) {
  const server = await webServer(onTestFinished, (request, response) => {
    const turn = turns.length > 1 ? turns.shift() : turns[0]
    turn?.(response, request)
  })
  return { url: server.url, requests: server.requests }
}

const answers = (response: ServerResponse) => void response.end(ITEMS)
const half = (response: ServerResponse) => {
  response.writeHead(200, { 'content-length': ITEMS.length })
  response.write(ITEMS.slice(0, 9), () => response.destroy())
}

describe('an incomplete or changed answer', () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ['half of it, then a broken connection', half],
    [
      'half of it in chunks, then the end',
      response => void response.write(ITEMS.slice(0, 9), () => response.destroy()),
    ],
    ['half of it, with a regular end', response => void response.end(ITEMS.slice(0, 9))],
    ['nothing', response => void response.end()],
    [
      'another text than its checksum is of',
      response => void response.writeHead(200, { 'x-amz-crc32': crc32(ITEMS) }).end(`${ITEMS} `),
    ],
    ['the error page of a proxy', response => void response.writeHead(502).end('<h1>Bad gateway</h1>')],
  ])('the client repeats the request: %s', async (_, first) => {
    const { url, requests } = await serverOf(first, answers)
    expect(await scan(url)).toEqual(items)
    expect(requests).toHaveLength(2)
  })

  test('the call fails after three attempts', async () => {
    const { url, requests } = await serverOf(response => void response.end('{'))
    await expect(scan(url)).rejects.toMatchObject({ name: 'UnreadableAnswer' })
    expect(requests).toHaveLength(3)
  })

  test('an answer with a correct checksum is accepted', async () => {
    const { url } = await serverOf(
      response => void response.writeHead(200, { 'x-amz-crc32': crc32(ITEMS) }).end(ITEMS),
    )
    expect(await scan(url)).toEqual(items)
  })
})

describe('malformed answers that no AWS service gives', () => {
  const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'

  test('101 Switching Protocols ends the attempt, and the call is retried', async () => {
    const { url, count } = await rawServer(onTestFinished, socket => void socket.end(SWITCHING))
    await expect(scan(url)).rejects.toMatchObject({ name: 'UnreadableAnswer' })
    expect(count()).toBe(3)
  })

  test('an endless answer is read up to its limit and then closed', async () => {
    let sent = 0
    const { url } = await serverOf(response => {
      const chunk = Buffer.alloc(2 ** 20, 32)
      const more = () => {
        if (response.destroyed) return
        sent += chunk.length
        response.write(chunk, more)
      }
      more()
    })
    const send = createTableSend(createTablesOverHttp({ settings: settingsAt(url), credentials }), 1)
    await expect(send('Scan', { TableName: 'data' })).rejects.toThrow('longer than')
    // the buffers of both sockets take bytes that the client never reads
    expect(sent).toBeLessThan(MAX_ANSWER_BYTES * 1.5)
  })
})

describe('the deadline of a call', () => {
  test('the deadline ends a call that is answered in part or not at all', async () => {
    for (const silent of [
      () => undefined,
      (response: ServerResponse) => void response.writeHead(200, { 'content-length': 99 }).write('{'),
    ]) {
      const { url, requests } = await serverOf(silent)
      await expect(scan(url, 80)).rejects.toMatchObject({ name: 'TimeoutError' })
      expect(requests).toHaveLength(1)
    }
  })

  test('the default deadline includes all attempts and pauses', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const send = createTableSend(async (_, ms) => {
      await new Promise(resolve => setTimeout(resolve, ms))
      throw new AwsServiceError('ThrottlingException', '', { status: 400, retryAfterMs: 60_000 })
    }, 100)
    const begun = performance.now()
    const call = send('Scan', { TableName: 'data' }).catch(() => performance.now() - begun)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await call).toBeLessThanOrEqual(CALL_TIMEOUT_MS)
  })

  test('a refused or reset connection fails the call with the connection’s error', async () => {
    await expect(scan(await closedPort())).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const { url } = await rawServer(onTestFinished, socket => socket.resetAndDestroy())
    await expect(scan(url)).rejects.toMatchObject({ code: 'ECONNRESET' })
  })
})

describe('a local clock that differs from the AWS service’s clock', () => {
  const OFF_MS = 600_000
  const posts = (url: string) => createSignedPost({ service: 'kms', settings: settingsAt(url), credentials })
  const dated = (request: IncomingMessage) =>
    Date.parse(String(request.headers['x-amz-date']).replace(/(....)(..)(..)T(..)(..)/, '$1-$2-$3T$4:$5:'))

  /** Makes a service whose clock is off, and which refuses signatures by another clock. */
  const service = (offMs: number, more: Record<string, string> = {}) =>
    serverOf((response, request) => {
      const now = Date.now() + offMs
      const refused = Math.abs(dated(request) - now) > 300_000
      response.writeHead(refused ? 403 : 200, { date: new Date(now).toUTCString(), ...more }).end()
    })

  test.each([OFF_MS, -OFF_MS])(
    'a clock that is %i ms off is refused once, and later requests are signed with the service’s time',
    async off => {
      const { url, requests } = await service(off)
      const post = posts(url)
      expect((await post({}, '', 1000)).status).toBe(200)
      expect(requests).toHaveLength(2)
      expect((await post({}, '', 1000)).status).toBe(200)
      expect(requests).toHaveLength(3)
    },
  )

  test('a refusal is final if the clocks agree, and so is a second refusal', async () => {
    const refusing = (off: number) =>
      serverOf(
        response =>
          void response.writeHead(403, { date: new Date(Date.now() + off).toUTCString() }).end('no'),
      )
    for (const [off, times] of [
      [0, 1],
      [OFF_MS, 2],
    ] as const) {
      const { url, requests } = await refusing(off)
      expect((await posts(url)({}, '', 1000)).status).toBe(403)
      expect(requests).toHaveLength(times)
    }
  })

  test('the time in a cached answer is ignored', async () => {
    const { url, requests } = await service(OFF_MS, { age: '600' })
    expect((await posts(url)({}, '', 1000)).status).toBe(403)
    expect(requests).toHaveLength(1)
  })
})

test('new credentials are used from the next request on', async () => {
  const { url, requests } = await serverOf(answers)
  let accessKeyId = 'first'
  const by = async () => ({ accessKeyId, secretAccessKey: 'secret' })
  const send = createTableSend(createTablesOverHttp({ settings: settingsAt(url), credentials: by }))
  await send('Scan', { TableName: 'data' })
  accessKeyId = 'second'
  await send('Scan', { TableName: 'data' })
  expect(requests.map(({ headers }) => /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1])).toEqual([
    'first',
    'second',
  ])
})

test.each([
  ['retry-after', '0.05'],
  ['x-amz-retry-after', '50'],
])('the wait that a busy service asks for is parsed: %s', async (header, value) => {
  const { url, requests } = await serverOf(
    response => void response.writeHead(503, { [header]: value }).end('{}'),
    answers,
  )
  const begun = performance.now()
  expect(await scan(url)).toEqual(items)
  expect(performance.now() - begun).toBeGreaterThanOrEqual(49)
  expect(requests).toHaveLength(2)
})
