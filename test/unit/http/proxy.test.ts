import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type FrontEvent, toHttpRequest } from '../../../shared/http/events.ts'
import type { FrontProxy } from '../../../shared/ports.ts'
import { anyNetworkContains } from '../../../shared/values/cidr.ts'

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
const read = (event: FrontEvent, by: FrontProxy | undefined = proxy) => toHttpRequest(event, 0, by)

describe('the client address behind a proxy', () => {
  test("the client address is the entry appended by the proxy, even if the front end appends the proxy's address", () => {
    for (const chain of [`${CALLER}, ${EDGE}`, CALLER, `${CALLER},${EDGE}`])
      expect(read(through({ 'x-forwarded-for': chain }))).toMatchObject({ source: CALLER })
  })

  test.each(['10.0.0.1', '10.0.0.1, 10.0.0.2', 'rubbish', EDGE, '', ', ,', '10.0.0.1\t'])(
    "entries that the client forged before the proxy's entry are ignored: %j",
    forged => {
      const request = read(through({ 'x-forwarded-for': `${forged}, ${CALLER}, ${EDGE}` }))
      expect(request).toMatchObject({ source: CALLER })
      expect(request).not.toHaveProperty('fault')
    },
  )

  test('with `hops` 2 the client address is one entry further to the left', () => {
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
      expect(anyNetworkContains([network], source), address).toBe(true)
      expect(anyNetworkContains(['10.0.0.0/8', `${EDGE}/32`], source), address).toBe(false)
    }
  })

  test.each([
    ['no X-Forwarded-For', undefined],
    ['an empty X-Forwarded-For', ''],
    ['a word instead of an address', 'unknown'],
    ['an obfuscated name', '_hidden'],
    ['an address with a port', `${CALLER}:443`],
    ['an address in brackets', '[2001:db8::1]'],
    ['an address with a zone', 'fe80::1%eth0'],
    ['a CIDR', `${CALLER}/32`],
    ['too few hops', EDGE],
    ['an address in another notation', '0xcb.0.113.9'],
    ['a chain of 600 entries', `${'10.0.0.1,'.repeat(600)}${CALLER}`],
  ])('an X-Forwarded-For without the client address is rejected with an error text: %s', (_, chain) => {
    const request = read(through({ 'x-forwarded-for': chain }))
    expect(request).toMatchObject({ source: '', fault: { code: 'invalid_request' } })
    expect(request.fault?.message).toMatch(/^X-Forwarded-For: entry 1 from its end must be the address/)
  })
})

describe('the secret that the proxy sends in a header', () => {
  test.each(['now', 'before'])('the current and the previous secret are both accepted: %s', secret => {
    expect(read(through({ 'x-origin-secret': secret }))).not.toHaveProperty('fault')
  })

  test.each([undefined, '', 'no', 'now ', 'now,now', hashOf('now')])(
    'other values of the secret are rejected: %j',
    secret => {
      const request = read(through({ 'x-origin-secret': secret }))
      expect(request).toMatchObject({ source: '', fault: { code: 'misdirected' } })
    },
  )

  test('the secret is checked before X-Forwarded-For', () => {
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

test('behind proxy and load balancer, X-Forwarded-For must contain the entry that the proxy appended', () => {
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

test('without the proxy setting, X-Forwarded-For from the client is ignored', () => {
  expect(read(through({}), undefined)).not.toHaveProperty('fault')
  expect(toHttpRequest(through({ 'x-forwarded-for': CALLER }), 0).source).toBe(EDGE)
})
