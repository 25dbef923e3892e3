import { describe, expect, test } from 'vitest'
import {
  type FrontEvent,
  fitsFrontLimit,
  frontOfEvent,
  toFrontAnswer,
  toHttpRequest,
} from '../../../shared/http/events.ts'

type Front = ReturnType<typeof frontOfEvent>

/** Builds one request as each front end delivers it; `typed` is the path on the wire. */
function eventOf(front: Front, typed: string, query: Record<string, string[]> = {}): FrontEvent {
  const raw = Object.entries(query)
    .flatMap(([name, values]) =>
      values.map(value => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
    )
    .join('&')
  const encoded = (text: string) => (front === 'alb' ? encodeURIComponent(text) : text)
  if (front === 'httpApi') {
    return {
      version: '2.0',
      rawPath: decodeURIComponent(typed),
      rawQueryString: raw,
      headers: { 'x-vault-token': 't', 'x-forwarded-for': '203.0.113.9' },
      requestContext: {
        requestId: 'r-1',
        domainName: 'api.example.com',
        http: { method: 'GET', sourceIp: '192.0.2.1' },
      },
    }
  }
  return {
    path: typed,
    httpMethod: 'GET',
    multiValueHeaders: {
      'X-Vault-Token': ['t'],
      host: ['forged.example.com'],
      'x-forwarded-for': ['203.0.113.9, 192.0.2.1'],
      'x-amzn-trace-id': [front === 'alb' ? 'r-1' : 'forged'],
    },
    multiValueQueryStringParameters: Object.fromEntries(
      Object.entries(query).map(([name, values]) => [encoded(name), values.map(encoded)]),
    ),
    requestContext:
      front === 'alb'
        ? { elb: {} }
        : { requestId: 'r-1', domainName: 'api.example.com', identity: { sourceIp: '192.0.2.1' } },
  }
}

const fronts: Front[] = ['httpApi', 'restApi', 'alb']

describe.each(fronts)('an event of %s', front => {
  test("the front end is detected by the event's shape", () =>
    expect(frontOfEvent(eventOf(front, '/v1/x'))).toBe(front))

  test.each([
    ['/v1/auth/cloud/role/dev', '/v1/auth/cloud/role/dev'],
    ['/v1/a%2Fb', '/v1/a/b'],
    ['/v1/a%252Fb', '/v1/a%2Fb'],
    ['/v1/a+b', '/v1/a+b'],
    ['/v1/a%2Bb%3D', '/v1/a+b='],
    ['/v1/v1%3Aab%3Fc', '/v1/v1:ab?c'],
    ['/v1/a%20b', '/v1/a b'],
    ['/v1/%C3%A9', '/v1/é'],
  ])('the path %s is decoded once to %s', (typed, path) => {
    expect(toHttpRequest(eventOf(front, typed), 0).path).toBe(path)
  })

  test('query names and values are decoded once, and repeated names are kept', () => {
    const query = { list: ['true'], 'a b': ['1+1', 'x%2Fy', 'é&='] }
    expect(toHttpRequest(eventOf(front, '/v1/x', query), 0).query).toEqual([
      ['list', 'true'],
      ['a b', '1+1'],
      ['a b', 'x%2Fy'],
      ['a b', 'é&='],
    ])
  })

  test("the client address comes from the front end, not from the client's headers", () => {
    expect(toHttpRequest(eventOf(front, '/v1/x'), 0).source).toBe('192.0.2.1')
  })

  test('the domain comes from the front end, except that a load balancer sends no domain', () => {
    const wanted = front === 'alb' ? '' : 'api.example.com'
    expect(toHttpRequest(eventOf(front, '/v1/x'), 0).domain).toBe(wanted)
  })

  test('the request has a method, headers, an ID and a deadline', () => {
    expect(toHttpRequest(eventOf(front, '/v1/x'), 42)).toMatchObject({
      method: 'GET',
      gatewayId: 'r-1',
      deadline: 42,
    })
    expect(toHttpRequest(eventOf(front, '/v1/x'), 0).headers['x-vault-token']).toBe('t')
  })

  test.each([
    ['text', { body: '{"a":"é"}' }, '{"a":"é"}', 10],
    ['base64', { body: Buffer.from('{"a":"é"}').toString('base64'), isBase64Encoded: true }, '{"a":"é"}', 10],
    ['nothing', {}, '', 0],
    ['null', { body: null }, '', 0],
  ])('a body sent as %s is read', (_, parts, body, bodyLength) => {
    expect(toHttpRequest({ ...eventOf(front, '/v1/x'), ...parts }, 0)).toMatchObject({ body, bodyLength })
  })
})

test.each([[[]], [['']]])("a load balancer's event has a gateway ID with any trace header: %j", trace => {
  const event = { ...eventOf('alb', '/v1/x'), multiValueHeaders: { 'x-amzn-trace-id': trace } }
  expect(toHttpRequest(event, 0).gatewayId).toBe('a load balancer')
})

test.each(['httpApi', 'restApi'] as const)(
  'an event of %s with an empty request ID is not a direct invocation',
  front => {
    const event = eventOf(front, '/v1/x')
    const requestContext = { ...event.requestContext, requestId: '' }
    expect(toHttpRequest({ ...event, requestContext }, 0).gatewayId).toBe('a gateway')
  },
)

describe('the client address behind a load balancer', () => {
  const from = (...chain: string[]) =>
    toHttpRequest({ ...eventOf('alb', '/v1/x'), multiValueHeaders: { 'X-Forwarded-For': chain } }, 0)

  test.each([
    [['192.0.2.1'], '192.0.2.1'],
    [['203.0.113.9, 192.0.2.1'], '192.0.2.1'],
    [['203.0.113.9', 'rubbish, 192.0.2.1'], '192.0.2.1'],
    [['2001:db8::1'], '2001:db8::1'],
  ])('the client address is the last entry of X-Forwarded-For: %j', (chain, source) => {
    const request = from(...chain)
    expect(request.source).toBe(source)
    expect(request).not.toHaveProperty('fault')
  })

  test.each([
    [[]],
    [['']],
    [['192.0.2.1,']],
    [['192.0.2.1, unknown']],
    [['192.0.2.1:4711']],
    [['[2001:db8::1]:4711']],
    [['fe80::1%eth0']],
    [['192.0.2.1/32']],
  ])('an X-Forwarded-For that does not end with an address is rejected (CVE-2024-6468): %j', chain => {
    expect(from(...chain)).toMatchObject({ source: '', fault: { code: 'invalid_request' } })
    expect(from(...chain).fault?.message).toMatch(/^X-Forwarded-For: its last entry must be the address/)
  })
})

describe('parsing unusual events', () => {
  test.each(['restApi', 'alb'] as const)(
    'a path with invalid percent-encoding is marked illegal (%s)',
    front => {
      expect(toHttpRequest(eventOf(front, '/v1/a%ZZ'), 0).path).toContain('\u0000')
    },
  )

  test('single-value headers and queries are read if the multi-value ones are missing', () => {
    const event = {
      path: '/v1/x',
      httpMethod: 'GET',
      queryStringParameters: { a: '1', b: undefined },
      headers: { A: 'x' },
    }
    expect(toHttpRequest(event, 0)).toMatchObject({
      query: [
        ['a', '1'],
        ['b', ''],
      ],
      headers: { a: 'x' },
    })
  })

  test('a repeated header keeps all its values', () => {
    const event = {
      ...eventOf('alb', '/v1/x'),
      multiValueHeaders: { Authorization: ['Basic x', 'Bearer t'] },
    }
    expect(toHttpRequest(event, 0).headers).toMatchObject({ authorization: 'Basic x,Bearer t' })
  })

  test('parameter names such as __proto__ are ordinary names', () => {
    const headers = JSON.parse('{"__proto__": "x", "constructor": "y"}')
    const request = toHttpRequest({ version: '2.0', headers }, 0)
    expect(Object.entries(request.headers)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
    expect(toHttpRequest({ version: '2.0' }, 0).headers['constructor']).toBeUndefined()
  })

  test('an empty event becomes a request without path and method', () => {
    expect(toHttpRequest({}, 0)).toMatchObject({
      method: '',
      path: '',
      query: [],
      source: '',
      gatewayId: '',
      body: '',
    })
  })
})

describe('responses to front ends', () => {
  const response = { status: 200, headers: { a: 'b' }, body: '{}' }
  const bare = { version: '2.0' }

  test('all front ends get the same response, and HEAD gets no body', () => {
    for (const event of [bare, eventOf('restApi', '/v1/x'), { requestContext: { elb: {} }, headers: {} }])
      expect(toFrontAnswer(event, response, false)).toEqual({
        statusCode: 200,
        headers: { a: 'b' },
        body: '{}',
        isBase64Encoded: false,
      })
    expect(toFrontAnswer(bare, response, true).body).toBe('')
  })

  test('a load balancer with multi-value headers gets lists of values', () => {
    expect(toFrontAnswer(eventOf('alb', '/v1/x'), response, false)).toEqual({
      statusCode: 200,
      headers: { a: 'b' },
      multiValueHeaders: { a: ['b'] },
      body: '{}',
      isBase64Encoded: false,
    })
  })

  const MEGABYTE = 1024 * 1024
  test.each<[Front, number]>([
    ['httpApi', 6 * MEGABYTE],
    ['restApi', 6 * MEGABYTE],
    ['alb', MEGABYTE],
  ])('responses of %s fit up to %i serialised bytes', (front, largest) => {
    const event = eventOf(front, '/v1/x')
    const sized = (body: string) => toFrontAnswer(event, { ...response, body }, false)
    for (const [character, bytes] of [
      ['x', 1],
      ['"', 2],
      ['é', 2],
      ['\u0000', 6],
    ] as const) {
      const rest = largest - Buffer.byteLength(JSON.stringify(sized('')))
      const most = character.repeat(Math.floor(rest / bytes))
      expect(fitsFrontLimit(event, sized(most)), `${character} that fit`).toBe(true)
      expect(fitsFrontLimit(event, sized(most + character)), `one ${character} too many`).toBe(false)
    }
  })
})
