import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { sendRequest } from '../../../../infra/command/ask.ts'
import { serverUrlOf } from '../../../../infra/local/os/loopback.ts'

/** Returns the error of a request to a server with a given scheme. */
async function faultOf(server: Server, scheme: 'http' | 'https'): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const base = `${serverUrlOf(server).replace('http', scheme)}/v1`
  const error = await sendRequest(base, 'sys/health', {}, { timeoutMs: 10_000 }).catch(
    (fault: Error) => fault,
  )
  return (error as Error).message.replaceAll(/:\d+/g, ':PORT')
}

test('for https to an HTTP server, the error names the http address', async () => {
  const server = createHttp((_, response) => response.end())
  expect(await faultOf(server, 'https')).toBe(
    'https://127.0.0.1:PORT cannot be reached (EPROTO): the server speaks HTTP; use http://127.0.0.1:PORT',
  )
})

test.each([
  [
    'answers with an alert of TLS',
    (): Server => createServer(socket => void socket.end('\x15\x03\x01\x00\x02\x02\x16')),
  ],
  ['ends the connection', (): Server => createServer(socket => void socket.once('data', () => socket.end()))],
])('for http to an HTTPS server that %s, the error names the https address', async (_, server) => {
  expect(await faultOf(server(), 'http')).toMatch(
    /^http:\/\/127.0.0.1:PORT cannot be reached \(\w+\): .*; try https:\/\/127.0.0.1:PORT$/,
  )
})
