import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createIssuerKeyFetcher } from '../../../../shared/adapters/aws/issuer-keys.ts'
import { createCallMeter, systemClock } from '../../../../shared/adapters/aws/system.ts'

const HOST = '11111111-2222-4333-8444-555555555555.tokens.sts.global.api.aws'

/** Fetches keys from a server on this machine, which gets every request in place of the host of the issuer. */
async function fetchFrom(answer: RequestListener, ms = 2000) {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const meter = createCallMeter()
  const redirect = `http://127.0.0.1:${port}`
  const fetcher = createIssuerKeyFetcher({ clock: systemClock, meter, redirect })
  return meter.measure(() => fetcher.fetch(HOST, systemClock.now() + ms))
}

test('a fetch asks the host of the issuer for one path, and counts as one call', async () => {
  const asked: (string | undefined)[] = []
  const { value, calls } = await fetchFrom((request, response) => {
    asked.push(request.method, request.url, request.headers.host)
    response.end('{"keys":[]}')
  })
  expect(value).toEqual({ ok: true, value: '{"keys":[]}' })
  expect(asked).toEqual(['GET', '/.well-known/jwks.json', HOST])
  expect(calls).toEqual({ oidc: 1 })
})

test.each<[number, string, object]>([
  [403, 'unknown', { oidc: 1 }],
  [404, 'unknown', { oidc: 1 }],
  [429, 'throttled', { oidc: 1, 'oidc throttled': 1 }],
  [500, 'failed', { oidc: 1, 'oidc failed': 1 }],
  [204, 'failed', { oidc: 1, 'oidc failed': 1 }],
])('a fetch ends on status %s with the fault %s', async (status, fault, counted) => {
  const { value, calls } = await fetchFrom((_, response) => response.writeHead(status).end())
  expect(value).toEqual({ ok: false, fault })
  expect(calls).toEqual(counted)
})

test('a fetch follows no redirect', async () => {
  let requests = 0
  const { value } = await fetchFrom((_, response) => {
    requests += 1
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  expect([value, requests]).toEqual([{ ok: false, fault: 'failed' }, 1])
})

test('a fetch reads no answer of more than 64 KiB', async () => {
  const { value } = await fetchFrom((_, response) => response.end('x'.repeat(65 * 1024)))
  expect(value).toEqual({ ok: false, fault: 'failed' })
})

test('a fetch ends at its deadline, also when the answer has begun', async () => {
  const silent = await fetchFrom(() => undefined, 50)
  expect(silent.value).toEqual({ ok: false, fault: 'timeout' })
  const slow = await fetchFrom((_, response) => void response.writeHead(200).write('{'), 50)
  expect(slow.value).toEqual({ ok: false, fault: 'timeout' })
})
