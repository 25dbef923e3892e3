import dns from 'node:dns'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { createIssuerKeyFetcher } from '../../shared/adapters/aws/issuer-keys.ts'
import { createCallMeter, systemClock } from '../../shared/adapters/aws/system.ts'
import { webServer } from '../support/service/server.ts'

const HOST = '11111111-2222-4333-8444-555555555555.tokens.sts.global.api.aws'

afterEach(() => vi.restoreAllMocks())

/** Records the names that this process looks up, and finds none of them. */
const watchLookups = () => {
  const names: string[] = []
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: unknown[]) => {
    names.push(name)
    const done = rest.at(-1) as (error: Error) => void
    done(Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' }))
  }) as never)
  return names
}

const fetcherTo = (redirect: string) => {
  const meter = createCallMeter()
  return { meter, ...createIssuerKeyFetcher({ clock: systemClock, meter, redirect }) }
}

test('a redirected fetch looks up no name, and names the issuer in the headers', async () => {
  const { url, requests } = await webServer(onTestFinished, (_, response) => response.end('{}'))
  const names = watchLookups()
  expect(await fetcherTo(url).fetch(HOST, Date.now() + 5000)).toEqual({ ok: true, value: '{}' })
  const { headers, url: path } = requests[0] as IncomingMessage
  expect([path, headers.host, headers['forwarded']]).toEqual(['/.well-known/jwks.json', HOST, `host=${HOST}`])
  expect(names).toEqual([])
})

// A stranger invents issuers. Faults would pause the fetches of all issuers.
test('without a redirect the name of the issuer is looked up, and a name that does not exist is no fault', async () => {
  const names = watchLookups()
  const { fetch, meter } = fetcherTo('')
  const { value, calls } = await meter.measure(() => fetch(HOST, Date.now() + 5000))
  expect(value).toEqual({ ok: false, fault: 'unknown' })
  expect(calls).toEqual({ oidc: 1 })
  expect(names).toEqual([HOST])
})

type Answer = (request: IncomingMessage, response: ServerResponse) => void

test.each<[name: string, answer: Answer, fault: string]>([
  ['403', (_, response) => response.writeHead(403).end(), 'unknown'],
  ['404', (_, response) => response.writeHead(404).end(), 'unknown'],
  ['400', (_, response) => response.writeHead(400).end(), 'unknown'],
  ['429', (_, response) => response.writeHead(429).end(), 'throttled'],
  ['500', (_, response) => response.writeHead(500).end('{}'), 'failed'],
  ['a redirect', (_, response) => response.writeHead(302, { location: '/other' }).end(), 'failed'],
  ['more than 64 KiB', (_, response) => response.end('x'.repeat(64 * 1024 + 1)), 'failed'],
  ['a body that ends early', (_, response) => response.write('{') && response.destroy(), 'failed'],
  ['nothing before the deadline', () => undefined, 'timeout'],
])('an issuer that answers %s', async (_, answer, fault) => {
  const { url, requests } = await webServer(onTestFinished, answer)
  const { fetch, meter } = fetcherTo(url)
  const { value, calls } = await meter.measure(() => fetch(HOST, Date.now() + 200))
  expect(value).toEqual({ ok: false, fault })
  expect(requests).toHaveLength(1)
  expect(calls).toEqual(
    {
      unknown: { oidc: 1 },
      throttled: { oidc: 1, 'oidc throttled': 1 },
      failed: { oidc: 1, 'oidc failed': 1 },
      timeout: { oidc: 1, 'oidc failed': 1 },
    }[fault],
  )
})

test('a key set of exactly 64 KiB is read', async () => {
  const text = 'x'.repeat(64 * 1024)
  const { url } = await webServer(onTestFinished, (_, response) => response.end(text))
  expect(await fetcherTo(url).fetch(HOST, Date.now() + 5000)).toEqual({ ok: true, value: text })
})
