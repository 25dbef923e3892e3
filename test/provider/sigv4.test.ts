import { describe, expect, test } from 'vitest'
import { readPresentedSignature } from '../../infra/local/provider/signing/presented-signature.ts'
import { verifySignature } from '../../infra/local/provider/signing/sigv4.ts'
import type { WireRequest } from '../../infra/local/provider/wire/http.ts'
import vectors from './sigv4-vectors.json' with { type: 'json' }

const key = { secretAccessKey: vectors.secretAccessKey }
const signedAt = Date.UTC(2015, 7, 30, 12, 36)
const minute = 60_000

function verdict(request: WireRequest, now = signedAt, facts: Parameters<typeof verifySignature>[2] = key) {
  const presented = readPresentedSignature(request)
  return presented.ok ? verifySignature(request, presented.value, facts, now) : presented.fault
}

type Vector = (typeof vectors.cases)[number]

function requestOf(vector: Vector): WireRequest {
  const [path = '', query = ''] = vector.target.split('?')
  const headers = vector.headers.map(([name = '', value = '']) => [name, value] as const)
  const signedHeaders = [...new Set(headers.map(([name]) => name))].sort().join(';')
  const scope = `${vectors.accessKeyId}/20150830/us-east-1/${vector.service}/aws4_request`
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${signedHeaders}, Signature=${vector.signature}`
  return {
    method: vector.method,
    path,
    query,
    headers: [...headers, ['authorization', authorization]],
    body: Buffer.from(vector.body),
  }
}

const vanilla = requestOf(vectors.cases[0] as Vector)

/** Verifies the first vector with a change. */
const altered = (change: Partial<WireRequest>) => verdict({ ...vanilla, ...change })
const replaced = (from: string | RegExp, to: string) =>
  altered({ headers: vanilla.headers.map(([name, value]) => [name, value.replace(from, to)]) })

describe('published vectors (SigV4 test suite; IAM User Guide, signing example)', () => {
  test.each(vectors.cases)('$name is valid', vector => {
    expect(verdict(requestOf(vector))).toBeUndefined()
  })

  test.each(vectors.cases)('$name fails with another secret', vector => {
    const facts = { secretAccessKey: `${vectors.secretAccessKey}x` }
    expect(verdict(requestOf(vector), signedAt, facts)).toMatchObject({ kind: 'bad-signature' })
  })
})

describe('a change of a signed part fails the signature', () => {
  const changes: [string, Partial<WireRequest>][] = [
    ['method', { method: 'POST' }],
    ['path', { path: '/x' }],
    ['query', { query: 'a=b' }],
    ['body', { body: Buffer.from('x') }],
    ['host', { headers: vanilla.headers.map(([n, v]) => [n, n === 'host' ? 'other.amazonaws.com' : v]) }],
  ]
  test.each(changes)('%s', (_name, change) => {
    expect(altered(change)).toMatchObject({ kind: 'bad-signature' })
  })

  test.each([
    ['signature', /Signature=5/, 'Signature=6'],
    ['shorter signature', /Signature=5f/, 'Signature='],
    ['region of the scope', 'us-east-1', 'us-west-1'],
    ['service of the scope', '/service/', '/sts/'],
    ['terminator', 'aws4_request', 'aws5_request'],
    ['date of the scope', '/20150830/', '/20150829/'],
    ['time', '20150830T123600Z', '20150830T123601Z'],
  ])('%s', (_name, from, to) => {
    expect(replaced(from, to)).toMatchObject({ kind: 'bad-signature' })
  })
})

test('a scope of another day than the date has a message that says so', () => {
  expect(replaced('/20150830/', '/20150829/')).toMatchObject({
    message: expect.stringMatching(/^Date in Credential scope does not match .* '20150829' != '20150830'/),
  })
})

describe('the signature must cover', () => {
  test('the host', () => {
    expect(replaced('SignedHeaders=host;', 'SignedHeaders=')).toMatchObject({
      kind: 'bad-signature',
      message: "'host' must be a 'SignedHeader' in the AWS Authorization.",
    })
  })

  test('every x-amz- header of the request', () => {
    expect(altered({ headers: [...vanilla.headers, ['x-amz-mallory', '1']] })).toMatchObject({
      kind: 'bad-signature',
      message: "'x-amz-mallory' must be a 'SignedHeader' in the AWS Authorization.",
    })
    expect(altered({ headers: [...vanilla.headers, ['x-mallory', '1']] })).toBeUndefined()
  })

  test('only headers of the request', () => {
    expect(replaced('SignedHeaders=host;', 'SignedHeaders=absent;host;')).toMatchObject({
      message: "'absent' is a 'SignedHeader' but is not in the request.",
    })
  })
})

describe('the payload hash header must match the body, so a signature fails', () => {
  test.each(['UNSIGNED-PAYLOAD', '0'.repeat(64)])(
    'if the header is not the hash of the body but %s',
    stated => {
      const headers = [...vanilla.headers, ['x-amz-content-sha256', stated]] as const
      const covered = headers.map(([name, value]) => [
        name,
        value.replace('host;', 'host;x-amz-content-sha256;'),
      ])
      expect(altered({ headers: covered as [string, string][] })).toMatchObject({
        message: "The value of 'x-amz-content-sha256' does not match the body.",
      })
    },
  )
})

describe('a signature is valid for 15 minutes', () => {
  test.each([
    ['15 minutes old', 15 * minute, undefined],
    ['older', 15 * minute + 1, /^Signature expired: 20150830T123600Z is now earlier than /],
    ['5 minutes ahead', -5 * minute, undefined],
    ['further ahead', -5 * minute - 1, /^Signature not yet current: 20150830T123600Z is still later than /],
  ])('%s', (_name, age, message) => {
    const found = verdict(vanilla, signedAt + age)
    if (message === undefined) expect(found).toBeUndefined()
    else expect(found).toEqual({ kind: 'stale-signature', message: expect.stringMatching(message) })
  })

  test('an invalid date makes the signature incomplete', () => {
    expect(replaced('20150830T123600Z', 'yesterday')).toMatchObject({ kind: 'incomplete' })
    expect(replaced('20150830T123600Z', '20159930T123600Z')).toMatchObject({ kind: 'incomplete' })
  })
})

describe('temporary keys', () => {
  test('a session token is required for a temporary key and refused for another key', () => {
    expect(verdict(vanilla, signedAt, { ...key, sessionToken: 'token' })).toMatchObject({
      kind: 'unknown-key',
    })
    const read = readPresentedSignature(vanilla)
    if (!read.ok) throw new Error(read.fault.message)
    const presented = { ...read.value, sessionToken: 'token' }
    expect(verifySignature(vanilla, presented, key, signedAt)).toMatchObject({ kind: 'unknown-key' })
  })

  test('an expired session is refused as expired-token', () => {
    expect(verdict(vanilla, signedAt, { ...key, expiresAt: signedAt })).toMatchObject({
      kind: 'expired-token',
    })
    expect(verdict(vanilla, signedAt, { ...key, expiresAt: signedAt + 1 })).toBeUndefined()
  })
})

describe('incomplete signatures', () => {
  const withAuthorization = (value: string) =>
    altered({ headers: [...vanilla.headers.slice(0, -1), ['authorization', value]] })
  const whole = vanilla.headers.at(-1)?.[1] ?? ''

  test.each([
    ['an empty header', '', 'incomplete'],
    ['another algorithm', whole.replace('AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA1'), 'incomplete'],
    ['bearer', 'Bearer abc', 'incomplete'],
    ['no signature', whole.replace(/, Signature=.*/, ''), 'incomplete'],
    ['no signed headers', whole.replace(/SignedHeaders=[^,]*, /, ''), 'incomplete'],
    ['a scope of four parts', whole.replace('/aws4_request', ''), 'incomplete'],
    ['a scope of six parts', whole.replace('/aws4_request', '/aws4_request/x'), 'incomplete'],
    ['a parameter twice', `${whole}, SignedHeaders=host`, 'incomplete'],
  ])('%s', (_name, value, kind) => {
    expect(withAuthorization(value)).toMatchObject({ kind })
  })

  test('a request without a header or query signature counts as unsigned', () => {
    expect(altered({ headers: vanilla.headers.slice(0, -1) })).toMatchObject({ kind: 'unsigned' })
  })

  test('a header and a query signature in one request', () => {
    expect(altered({ query: 'X-Amz-Signature=00' })).toMatchObject({ kind: 'incomplete' })
  })

  test('a request without a date header', () => {
    const headers = vanilla.headers.filter(([name]) => name !== 'x-amz-date')
    expect(altered({ headers })).toMatchObject({ kind: 'incomplete' })
  })

  test('a malformed escape in the query', () => {
    expect(altered({ query: 'a=%zz' })).toMatchObject({ kind: 'incomplete' })
  })
})
