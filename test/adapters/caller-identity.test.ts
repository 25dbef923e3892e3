import type { IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { createStsCallerIdentity } from '../../shared/adapters/aws/caller-identity.ts'
import { createCallMeter, systemClock } from '../../shared/adapters/aws/system.ts'
import type { StsRequest } from '../../shared/ports.ts'
import { rawServer, webServer } from '../support/service/server.ts'

test('an STS that answers 101 Switching Protocols counts as not reachable', async () => {
  const { url } = await rawServer(
    onTestFinished,
    socket =>
      void socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  )
  const port = createStsCallerIdentity({ clock: systemClock, meter: createCallMeter(), redirect: '' })
  const request: StsRequest = {
    method: 'POST',
    endpoint: url,
    host: 'sts',
    target: '/',
    headers: [],
    body: '',
    maxRetries: 0,
  }
  await expect(port.forward(request, Date.now() + 60_000)).rejects.toMatchObject({ code: 'provider_failed' })
})

test.each([
  ['a request to AWS itself has only the signed headers', false, undefined],
  [
    'a request to an imitation names the real host in the Forwarded header',
    true,
    'host=sts.eu-west-1.amazonaws.com',
  ],
])('%s', async (_, redirected, forwarded) => {
  const { url, requests } = await webServer(onTestFinished, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/xml' }).end('<x/>')
  })
  const port = createStsCallerIdentity({
    clock: systemClock,
    meter: createCallMeter(),
    redirect: redirected ? url : '',
  })
  const endpoint = redirected ? 'https://sts.eu-west-1.amazonaws.com' : url
  await port.forward(
    {
      method: 'POST',
      endpoint,
      host: 'sts.amazonaws.com',
      target: '/',
      headers: [['x-amz-date', '20260101T000000Z']],
      body: 'Action=GetCallerIdentity&Version=2011-06-15',
      maxRetries: 0,
    },
    Date.now() + 5000,
  )
  const { headers } = requests[0] as IncomingMessage
  expect([headers.host, headers['forwarded']]).toEqual(['sts.amazonaws.com', forwarded])
})
