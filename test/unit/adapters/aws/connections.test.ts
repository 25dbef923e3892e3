import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { onceHandler, requestHandler } from '../../../../shared/adapters/aws/client.ts'
import { webServer } from '../../../support/server.ts'

type Handler = ReturnType<typeof requestHandler>
type Sent = Parameters<Handler['handle']>[0]

/** Sends a request as an SDK client does, and reads the answer. */
async function ask(sender: Handler, url: string, options = {}): Promise<string> {
  const { hostname, port } = new URL(url)
  const request = { protocol: 'http:', hostname, port, method: 'POST', path: '/', headers: {}, body: 'ask' }
  const { response } = await sender.handle(request as unknown as Sent, options)
  return (await buffer(response.body)).toString()
}

/** A server whose connections answer the first request, and do as the test says with further ones. */
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

describe('a kept connection that turns out dead', () => {
  test.each(endings)('the request is sent again on a new one, at once: %s', async (_name, end) => {
    const server = await serverOf(end)
    const sender = requestHandler()
    await ask(sender, server.url)
    expect(await ask(sender, server.url)).toBe('answer')
    expect([server.requests(), server.connections()]).toEqual([3, 2])
  })

  test('all that are kept are dead: each request costs one repetition at most', async () => {
    const server = await serverOf(socket => socket.resetAndDestroy())
    const sender = requestHandler()
    const several = () => Promise.all(Array.from({ length: 5 }, () => ask(sender, server.url)))
    await several()
    expect(await several()).toEqual(Array(5).fill('answer'))
    expect(server.connections()).toBe(10)
  })

  test('what fails on the new connection as well is not sent a third time', async () => {
    let broken = false
    const end = (socket: Socket) => socket.resetAndDestroy()
    const server = await serverOf(end, socket => {
      if (broken) end(socket)
    })
    const sender = requestHandler()
    await ask(sender, server.url)
    broken = true
    await expect(ask(sender, server.url)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.requests()).toBe(3)
  })

  test('a new connection that dies is a fault like any other', async () => {
    const server = await serverOf(
      () => undefined,
      socket => socket.resetAndDestroy(),
    )
    await expect(ask(requestHandler(), server.url)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.requests()).toBe(1)
  })

  test('one that never answers: the attempt ends in time, and the next one uses another', async () => {
    const server = await serverOf(() => undefined)
    const sender = requestHandler()
    await Promise.all([ask(sender, server.url), ask(sender, server.url)])
    await expect(ask(sender, server.url, { requestTimeout: 50 })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(server.requests()).toBe(3)
    expect(await ask(sender, server.url)).toBe('answer')
  })
})

describe('a kept connection that has rested', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([
    ['for half a minute is used', 30_000, 1],
    ['for longer than a minute is not: it may be forgotten on the way', 61_000, 2],
  ])('%s', async (_name, ms, connections) => {
    const server = await webServer(onTestFinished, (_request, response) => response.end('answer'))
    const sender = requestHandler()
    await ask(sender, server.url)
    vi.setSystemTime(Date.now() + ms)
    await ask(sender, server.url)
    expect(new Set(server.requests.map(({ socket }) => socket)).size).toBe(connections)
  })
})

test('what must not be sent twice goes over a connection of its own, and is sent once', async () => {
  const server = await serverOf(socket => socket.resetAndDestroy())
  await ask(requestHandler(), server.url)
  expect(await ask(onceHandler(), server.url)).toBe('answer')
  expect([server.requests(), server.connections()]).toEqual([2, 2])
})
