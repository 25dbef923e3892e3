import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type FrontEvent, requestOf } from '../../../shared/http/events.ts'
import type { FrontProxy } from '../../../shared/ports.ts'
import { anyContains } from '../../../shared/values/cidr.ts'

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
const proxy: FrontProxy = { secretHashes: [hashOf('now'), hashOf('before')], hops: 1 }

/** The address of the proxy's edge. */
const EDGE = '198.51.100.7'
const CALLER = '203.0.113.9'

/** Builds an HTTP API event of a request that came through the proxy. */
const through = (headers: Record<string, string | undefined>): FrontEvent => ({
  version: '2.0',
  rawPath: '/v1/x',
  headers: { 'x-origin-secret': 'now', 'x-forwarded-for': `${CALLER}, ${EDGE}`, ...headers },
  requestContext: { requestId: 'r-1', http: { method: 'GET', sourceIp: EDGE } },
})
const read = (event: FrontEvent, by: FrontProxy | undefined = proxy) => requestOf(event, 0, by)

describe('the client address behind a proxy', () => {
  test('the client is the address that the proxy appended, even if the front end appends the proxy', () => {
    for (const chain of [`${CALLER}, ${EDGE}`, CALLER, `${CALLER},${EDGE}`])
      expect(read(through({ 'x-forwarded-for': chain }))).toMatchObject({ source: CALLER })
  })

  test.each(['10.0.0.1', '10.0.0.1, 10.0.0.2', 'rubbish', EDGE, '', ', ,', '10.0.0.1\t'])(
    'is not whom the caller names before that: %j',
    forged => {
      const request = read(through({ 'x-forwarded-for': `${forged}, ${CALLER}, ${EDGE}` }))
      expect(request).toMatchObject({ source: CALLER })
      expect(request).not.toHaveProperty('fault')
    },
  )

  test("with more proxies the client's entry is further to the left", () => {
    const chain = `10.0.0.1, ${CALLER}, 192.0.2.3, ${EDGE}`
    expect(read(through({ 'x-forwarded-for': chain }), { ...proxy, hops: 2 }).source).toBe(CALLER)
  })

  test('the client address is compared with the CIDRs of tokens and roles', () => {
    for (const [address, network] of [
      [CALLER, '203.0.113.0/24'],
      ['2001:db8::1', '2001:db8::/32'],
      ['::ffff:203.0.113.9', '203.0.113.0/24'],
    ] as const) {
      const { source } = read(through({ 'x-forwarded-for': `10.0.0.1, ${address}, ${EDGE}` }))
      expect(anyContains([network], source), address).toBe(true)
      expect(anyContains(['10.0.0.0/8', `${EDGE}/32`], source), address).toBe(false)
    }
  })

  test.each([
    ['no header', undefined],
    ['nothing', ''],
    ['no address', 'unknown'],
    ['an obfuscated name', '_hidden'],
    ['a port', `${CALLER}:443`],
    ['brackets', '[2001:db8::1]'],
    ['a zone', 'fe80::1%eth0'],
    ['a network', `${CALLER}/32`],
    ['too few hops', EDGE],
    ['an address in another notation', '0xcb.0.113.9'],
    ['more than anybody appends', `${'10.0.0.1,'.repeat(600)}${CALLER}`],
  ])('a chain without a client address is rejected with a text: %s', (_, chain) => {
    const request = read(through({ 'x-forwarded-for': chain }))
    expect(request).toMatchObject({ source: '', fault: { code: 'invalid_request' } })
    expect(request.fault?.message).toMatch(/^X-Forwarded-For: entry 1 from its end must be the address/)
  })
})

describe('the secret of the proxy', () => {
  test.each(['now', 'before'])('is the present one, or the other one while they change: %s', secret => {
    expect(read(through({ 'x-origin-secret': secret }))).not.toHaveProperty('fault')
  })

  test.each([undefined, '', 'no', 'now ', 'now,now', hashOf('now')])('is nothing else: %j', secret => {
    const request = read(through({ 'x-origin-secret': secret }))
    expect(request).toMatchObject({ source: '', fault: { code: 'misdirected' } })
  })

  test('the secret is checked before the chain', () => {
    const around = through({ 'x-origin-secret': undefined, 'x-forwarded-for': 'rubbish' })
    expect(read(around).fault?.code).toBe('misdirected')
  })

  test('a direct invocation needs no proxy secret', () => {
    const { requestContext: _, ...direct } = through({ 'x-origin-secret': undefined })
    expect(read(direct)).not.toHaveProperty('fault')
    const numbered = { ...direct, requestContext: { requestId: '', http: {} } }
    expect(read(numbered).fault?.code).toBe('misdirected')
  })
})

test('the secret is also checked in front of a load balancer', () => {
  const event = (chain: string): FrontEvent => ({
    path: '/v1/x',
    httpMethod: 'GET',
    multiValueHeaders: { 'x-origin-secret': ['now'], 'x-forwarded-for': [chain] },
    requestContext: { elb: {} },
  })
  expect(read(event(`10.0.0.1, ${CALLER}, ${EDGE}`)).source).toBe(CALLER)
  expect(read(event(EDGE)).fault?.code).toBe('invalid_request')
  expect(read(event(`${CALLER}, ${EDGE}:443`)).fault?.code).toBe('invalid_request')
})

test('without the setting, headers from the client are ignored', () => {
  expect(read(through({}), undefined)).not.toHaveProperty('fault')
  expect(requestOf(through({ 'x-forwarded-for': CALLER }), 0).source).toBe(EDGE)
})
