import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'

/**
 * Registers work for the end of a test: `onTestFinished`, or the same function of the test's context for
 * concurrent tests.
 */
export type WhenDone = (work: () => void) => void

/** Listens on loopback until the test ends. */
async function listening(server: Server, whenDone: WhenDone): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenDone(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/**
 * Starts a web server with the behaviour that a test gives, and records the requests that reach the server.
 */
export async function webServer(
  whenDone: WhenDone,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const url = await listening(
    createServer((request, response) => {
      requests.push(request)
      request.resume()
      answer(request, response)
    }),
    whenDone,
  )
  return { url, requests }
}

/** Starts a TCP server whose answers need not be HTTP. */
export async function rawServer(
  whenDone: WhenDone,
  connected: (socket: Socket) => void,
): Promise<{ url: string; count: () => number }> {
  let connections = 0
  const url = await listening(
    createTcpServer(socket => {
      connections += 1
      connected(socket)
    }),
    whenDone,
  )
  return { url, count: () => connections }
}

/** Returns the address of a port without a listener. */
export async function closedPort(): Promise<string> {
  const server = createTcpServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}
