import { describe, expect, test } from 'vitest'
import { rebuildStsRequest, type StsRequestRules } from '../../../shared/identity-proof/sts-request.ts'
import {
  authorization,
  BODY,
  base64,
  getInput,
  postInput,
  queryText,
  request,
  usualHeaders,
  usualQuery,
  usualRules,
} from '../../builders/signed-request.ts'

const rebuild = (input = postInput(), rules: Partial<StsRequestRules> = {}) =>
  rebuildStsRequest(request(input), { ...usualRules, ...rules })

/** Returns the rule that a request violates, or `sent`. */
const why = (input = postInput(), rules: Partial<StsRequestRules> = {}) => {
  const rebuilt = rebuild(input, rules)
  return rebuilt.ok ? 'sent' : rebuilt.fault.why
}

function headersOf(input = postInput(), rules: Partial<StsRequestRules> = {}): [string, string][] {
  const rebuilt = rebuild(input, rules)
  return rebuilt.ok
    ? rebuilt.value.headers.map(([name, value]) => [name, value])
    : expect.fail(rebuilt.fault.why)
}
const namesOf = (...given: Parameters<typeof headersOf>) => headersOf(...given).map(([name]) => name)

/** Adds a header to a request, and optionally its name to the signed headers. */
const withHeader = (name: string, value: unknown, signed = false) =>
  postInput({ [name]: value, Authorization: authorization(signed ? `host;${name.toLowerCase()}` : 'host') })

describe('the request that is sent to STS', () => {
  test('a POST request is rebuilt from its parts', () => {
    const value = {
      method: 'POST',
      endpoint: 'https://sts.amazonaws.com',
      host: 'sts.amazonaws.com',
      target: '/',
      headers: [
        ['Content-Type', usualHeaders['Content-Type']],
        ['X-Amz-Date', usualHeaders['X-Amz-Date']],
        ['Authorization', usualHeaders.Authorization],
        ['Accept', 'application/xml'],
        ['Accept-Encoding', 'identity'],
        ['Content-Length', String(BODY.length)],
      ],
      body: BODY,
      maxRetries: -1,
    }
    expect(rebuild()).toEqual({ ok: true, value })
  })

  test('a presigned request keeps its query byte for byte', () => {
    const value = {
      method: 'GET',
      endpoint: 'https://sts.amazonaws.com',
      host: 'sts.amazonaws.com',
      target: `/?${queryText(usualQuery)}`,
      headers: [
        ['Accept', 'application/xml'],
        ['Accept-Encoding', 'identity'],
      ],
      body: '',
      maxRetries: -1,
    }
    expect(rebuild(getInput())).toEqual({ ok: true, value })
  })

  test('a body without content type is sent as a form', () => {
    const { 'Content-Type': _, ...headers } = usualHeaders
    expect(headersOf(postInput({}, { headers }))).toContainEqual([
      'Content-Type',
      'application/x-www-form-urlencoded',
    ])
  })

  test('a signature in several header values is sent as one value', () => {
    const sent = headersOf(postInput({ Authorization: authorization().split(', ') }))
    expect(sent.filter(([name]) => name === 'Authorization')).toEqual([['Authorization', authorization()]])
  })

  test('the values of a signed header stay separate and in order', () => {
    const sent = headersOf(withHeader('X-Custom', ['b', 'a'], true))
    expect(sent.filter(([name]) => name === 'X-Custom')).toEqual([
      ['X-Custom', 'b'],
      ['X-Custom', 'a'],
    ])
  })
})

describe('headers that are sent to STS', () => {
  test.each([
    ['Cookie', 'a=b'],
    ['X-Custom', 'x'],
    ['X-Vault-Token', 'hvs.x'],
    ['X-Forwarded-For', '10.0.0.1'],
  ])('%s is sent only if it is signed or allowed', (name, value) => {
    expect(namesOf(withHeader(name, value))).not.toContain(name)
    expect(headersOf(withHeader(name, value, true))).toContainEqual([name, value])
    expect(headersOf(withHeader(name, value), { allowedHeaders: [name] })).toContainEqual([name, value])
  })

  const hops = [
    'Connection',
    'Keep-Alive',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
    'TE',
    'Trailer',
    'Expect',
    'Proxy-Authorization',
    'Proxy-Connection',
  ]
  test.each(hops)('the header %s is never sent, and is rejected if it is signed', name => {
    const sent = [
      ...namesOf(withHeader(name, 'x')),
      ...namesOf(withHeader(name, 'x'), { allowedHeaders: [name] }),
    ]
    expect(sent.map(one => one.toLowerCase())).not.toContain(name.toLowerCase())
    expect(why(withHeader(name, 'x', true))).toBe('header-refused')
    expect(why(withHeader(name, 'x', true), { allowedHeaders: [name] })).toBe('header-refused')
  })

  test('a signed hop-by-hop name is rejected even without the header', () => {
    expect(why(postInput({ Authorization: authorization('host;connection') }))).toBe('header-refused')
  })

  test.each([
    ['Accept', 'application/json', 'application/xml'],
    ['Accept-Encoding', 'gzip', 'identity'],
  ])('an unsigned %s is replaced, even if it is allowed (CVE-2020-16250)', (name, value, ours) => {
    for (const allowedHeaders of [[], [name]]) {
      const sent = headersOf(withHeader(name, value), { allowedHeaders })
      expect(sent.filter(one => one[0] === name)).toEqual([[name, ours]])
    }
  })

  test.each([
    '*/*',
    'application/xml',
    'text/xml',
    'text/xml;q=0.9, */*;q=0.1',
    'application/json, text/plain, */*',
  ])('a signed Accept of %s, which includes XML, is sent', value => {
    const sent = headersOf(withHeader('Accept', value, true))
    expect(sent.filter(([name]) => name === 'Accept')).toEqual([['Accept', value]])
  })

  test.each<[string, unknown]>([
    ['Accept', 'application/json'],
    ['Accept', 'application/json, text/plain'],
    ['Accept', 'application/json;xml'],
    ['Accept', ['text/plain', 'application/json']],
    ['Accept', ''],
    ['Content-Length', '1'],
    ['Content-Length', [String(BODY.length), String(BODY.length)]],
    ['Content-Length', '0x2b'],
  ])('a signed %s of %j is rejected before the call to STS', (name, value) => {
    expect(why(withHeader(name, value, true))).toBe('header-refused')
  })

  test('Content-Length is computed, must be right if signed, and is sent for an empty body too', () => {
    const length = ['Content-Length', String(BODY.length)]
    for (const signed of [true, false]) {
      const value = signed ? length[1] : '1'
      const sent = headersOf(withHeader('Content-Length', value, signed))
      expect(sent.filter(([name]) => name === 'Content-Length')).toEqual([length])
    }
    const get = getInput(
      { 'X-Amz-SignedHeaders': 'content-length;host' },
      { headers: { 'Content-Length': '0' } },
    )
    expect(headersOf(get)).toContainEqual(['Content-Length', '0'])
  })
})

describe('the Host header of an STS request', () => {
  test.each(['sts.amazonaws.com', 'STS.amazonaws.com', 'sts.amazonaws.com:443'])(
    'the Host header %s is the URL’s host',
    Host => {
      expect(why(postInput({ Host }))).toBe('sent')
      expect(namesOf(postInput({ Host }))).not.toContain('Host')
    },
  )

  test.each<[unknown]>([
    ['evil.example'],
    ['sts.us-east-1.amazonaws.com'],
    ['sts.amazonaws.com:80'],
    [''],
    [['sts.amazonaws.com', 'evil.example']],
  ])('the Host header %j is rejected', Host => {
    expect(why(postInput({ Host }))).toBe('header-refused')
  })

  test('the Host header may be omitted', () => {
    const { Host: _, ...headers } = usualHeaders
    expect(rebuild(postInput({}, { headers }))).toMatchObject({ value: { host: 'sts.amazonaws.com' } })
  })
})

describe('the allow-list of X-Amz headers', () => {
  const allowed = [
    'Algorithm',
    'Content-Sha256',
    'Credential',
    'Date',
    'Security-Token',
    'Signature',
    'SignedHeaders',
    'User-Agent',
  ]
  test.each(allowed)('X-Amz-%s is always allowed, in any case', name => {
    expect(why(postInput({ [`X-Amz-${name}`]: 'x' }))).toBe('sent')
    expect(why(postInput({ [`x-amz-${name}`.toUpperCase()]: 'x' }))).toBe('sent')
  })

  test.each(['X-Amz-Mallory-Header', 'x-amz-target', 'X-Amz-Expires', 'X-AMZ-', 'X-Amz-Date2'])(
    'the header %s is rejected unless the client configuration allows it',
    name => {
      expect(why(postInput({ [name]: 'x' }))).toBe('header-not-allowed')
      expect(why(postInput({ [name]: 'x' }), { allowedHeaders: [name] })).toBe('sent')
      expect(why(postInput({ [name]: 'x' }), { allowedHeaders: ['X-Amz-Other'] })).toBe('header-not-allowed')
    },
  )

  test('query parameters of a presigned request are checked against the same list', () => {
    for (const name of ['X-Amz-Mallory', 'RoleArn', 'DurationSeconds']) {
      const input = getInput({ [name]: 'x' })
      expect(why(input)).toBe('query-not-allowed')
      expect(why(input, { allowedHeaders: [name] })).toBe('sent')
    }
    expect(why(getInput({}, { headers: { 'X-Amz-Expires': '900' } }))).toBe('header-not-allowed')
  })
})

test('the number of STS retries is configurable', () => {
  expect(rebuild(postInput(), { maxRetries: 5 })).toMatchObject({ value: { maxRetries: 5 } })
})

test('a host that only resembles STS is rejected before the call', () => {
  const input = postInput({ Host: 'evil' }, { url: base64('https://sts.amazonaws.com.evil.example/') })
  expect(why(input)).toBe('sts-host')
})
