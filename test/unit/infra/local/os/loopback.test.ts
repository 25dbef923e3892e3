import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  checkPortsAreFree,
  closeServer,
  findFreePort,
  listenOnLoopback,
  serverUrlOf,
} from '../../../../../infra/local/os/loopback.ts'

const portOf = (url: string) => Number(new URL(url).port)

/** Returns a port on which another server listens during the test. */
async function takenPort(): Promise<number> {
  const server = createServer()
  onTestFinished(() => void server.close())
  return portOf(await listenOnLoopback(server))
}

describe('a server on loopback', () => {
  test('the server listens on the requested port, and returns its address', async () => {
    const port = await findFreePort()
    const server = createHttpServer((_, response) => response.end('here'))
    const url = await listenOnLoopback(server, port)
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect(serverUrlOf(server)).toBe(url)
    expect(await (await fetch(url)).text()).toBe('here')
    await closeServer(server)
  })

  test('the server does not start on a port in use', async () => {
    await expect(listenOnLoopback(createServer(), await takenPort())).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
  })

  test('the server survives a connection that cannot be accepted', async () => {
    const server = createServer()
    onTestFinished(() => void server.close())
    await listenOnLoopback(server)
    expect(server.emit('error', new Error('accept EMFILE'))).toBe(true)
  })

  test('the server closes although a client stays connected', async () => {
    const server = createHttpServer()
    const socket = connect(portOf(await listenOnLoopback(server)), '127.0.0.1')
    const cut = new Promise(resolve => socket.once('close', resolve))
    await new Promise(resolve => socket.once('connect', resolve))
    await closeServer(server)
    await cut
  })
})

describe('checking ports before the host starts', () => {
  test('checked ports are free afterwards, and undefined ports are skipped', async () => {
    const port = await findFreePort()
    await checkPortsAreFree({ port, 'provider-port': 0, 'metadata-port': undefined })
    await checkPortsAreFree({ port })
  })

  test('the error names the ports in use, and what to do', async () => {
    const [free, taken] = [await findFreePort(), await takenPort()]
    await expect(checkPortsAreFree({ port: free, 'provider-port': taken })).rejects.toThrow(
      `port ${taken} is in use, perhaps by a running cluster. Stop that cluster, or choose another port with --provider-port (0: any free one)`,
    )
    await checkPortsAreFree({ port: free })
  })

  test.each([65_536, -1, 1.5, Number.NaN])('ports outside the valid range are rejected: %s', async port => {
    await expect(checkPortsAreFree({ port })).rejects.toThrow(
      '--port must be a number from 0 (any free port) to 65535',
    )
  })
})
