import { createServer } from 'node:http'
import { request } from 'node:https'
import { expect, onTestFinished, test } from 'vitest'
import { startLinkProxy } from '../../../../../../infra/local/commands/drill/link-proxy.ts'
import { createServerTls } from '../../../../../../infra/local/gateway/tls.ts'
import { closeServer, listenOnLoopback } from '../../../../../../infra/local/os/loopback.ts'

test('the proxy of the drill forwards calls over TLS, and forwards nothing while the link is cut', async () => {
  const server = createServer((_, response) => response.end('answered'))
  const tls = createServerTls('east')
  const proxy = await startLinkProxy(await listenOnLoopback(server), tls)
  onTestFinished(() => proxy.close().then(() => closeServer(server)))
  const call = () =>
    new Promise<string>(resolve => {
      const asked = request(proxy.url, { ca: tls.cert }, answer =>
        answer.on('data', data => resolve(String(data))),
      )
      asked.on('error', () => resolve('refused'))
      asked.end()
    })
  const answers = [await call()]
  proxy.cut()
  answers.push(await call())
  proxy.heal()
  answers.push(await call())
  expect(answers).toEqual(['answered', 'refused', 'answered'])
})
