import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createWireRequestHandler } from '../../../../shared/adapters/aws/client.ts'
import { wireAddress, wireTransport } from '../../../../shared/adapters/aws/wire/post.ts'
import { webServer } from '../../../support/service/server.ts'

/**
 * Sends a request and reads the answer.
 * @param ms timeout of the attempt
 */
type Ask = (url: string, ms?: number) => Promise<string>

/** Sends the request with an SDK client. */
function bySdk(handler = createWireRequestHandler()): Ask {
  return async (url, requestTimeout) => {
    const { hostname, port } = new URL(url)
    const to = { protocol: 'http:', hostname, port: Number(port), path: '/', headers: {}, body: 'ask' }
    const options = requestTimeout === undefined ? {} : { requestTimeout }
    const { response } = await handler.handle(to, options)
    return response.body.toString()
  }
}

const overTheWire: Ask = async (url, ms = 3000) =>
  (await wireTransport.post(wireAddress(new URL(url)), {}, 'ask', ms)).body.toString()

const ways: [string, () => Ask][] = [
  ['by the SDK', bySdk],
  ['over the wire', () => overTheWire],
]

/** Starts a server whose connections answer the first request, and then behave as the test demands. */
async function serverOf(
  further: (socket: Socket) => void,
  first: (socket: Socket) => void = () => undefined,
) {
  const served = new Set<Socket>()
  const { url, requests } = await webServer(onTestFinished, ({ socket }, response) => {
    if (served.has(socket)) return further(socket)
    served.add(socket)
    first(socket)
    if (!socket.destroyed) response.end('answer')
  })
  return { url, requests: () => requests.length, connections: () => served.size }
}

const endings: [string, (socket: Socket) => void][] = [
  ['is reset', socket => socket.resetAndDestroy()],
  ['is closed', socket => socket.destroy()],
  ['is ended', socket => socket.end()],
  ['answers nonsense', socket => socket.end('nonsense\r\n\r\n')],
]

describe.each(ways)('a kept connection that is dead, %s', (_way, way) => {
  test.each(endings)('the request is sent again at once on a new connection: %s', async (_name, end) => {
    const server = await serverOf(end)
    const ask = way()
    await ask(server.url)
    expect(await ask(server.url)).toBe('answer')
    expect([server.requests(), server.connections()]).toEqual([3, 2])
  })

  test('if all kept connections are dead, the client repeats each request at most once', async () => {
    const server = await serverOf(socket => socket.resetAndDestroy())
    const ask = way()
    const several = () => Promise.all(Array.from({ length: 5 }, () => ask(server.url)))
    await several()
    expect(await several()).toEqual(Array(5).fill('answer'))
    expect(server.connections()).toBe(10)
  })

  test('a request that fails on the new connection is not sent a third time', async () => {
    let broken = false
    const end = (socket: Socket) => socket.resetAndDestroy()
    const server = await serverOf(end, socket => {
      if (broken) end(socket)
    })
    const ask = way()
    await ask(server.url)
    broken = true
    await expect(ask(server.url)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.requests()).toBe(3)
  })

  test('a new connection that dies is an ordinary fault', async () => {
    const server = await serverOf(
      () => undefined,
      socket => socket.resetAndDestroy(),
    )
    await expect(way()(server.url)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.requests()).toBe(1)
  })

  test('a connection without an answer ends the attempt in time, and the next attempt uses a new connection', async () => {
    const server = await serverOf(() => undefined)
    const ask = way()
    await Promise.all([ask(server.url), ask(server.url)])
    await expect(ask(server.url, 50)).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(server.requests()).toBe(3)
    expect(await ask(server.url)).toBe('answer')
  })
})

describe.each(ways)('a kept connection that was idle, %s', (_way, way) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([
    ['for half a minute, is used', 30_000, 1],
    ['for more than a minute, is not used, because routers may have forgotten it', 61_000, 2],
  ])('%s', async (_name, ms, connections) => {
    const server = await webServer(onTestFinished, (_request, response) => response.end('answer'))
    const ask = way()
    await ask(server.url)
    vi.setSystemTime(Date.now() + ms)
    await ask(server.url)
    expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(connections)
  })
})

test('a request that must be sent once uses its own connection, and is sent once', async () => {
  const server = await serverOf(socket => socket.resetAndDestroy())
  await bySdk()(server.url)
  expect(await bySdk(createWireRequestHandler(true))(server.url)).toBe('answer')
  expect([server.requests(), server.connections()]).toEqual([2, 2])
})
