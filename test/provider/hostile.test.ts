import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type RunningProvider, startProvider } from '../../infra/local/provider/provider.ts'
import { account, region } from './clients.ts'
import { basicDate, callerIdentityPost, signHeaders, type TestKey, type TestRequest } from './hand-signer.ts'
import { element, send } from './send.ts'

let provider: RunningProvider
let key: TestKey
beforeAll(async () => {
  provider = await startProvider()
  await provider.control.putUser({ account, name: 'bob' })
  key = await provider.control.createAccessKey({ account, user: 'bob' })
  return () => provider.close()
})

const signed = (request: Partial<TestRequest>, service = 'sts') =>
  signHeaders({ ...callerIdentityPost('sts.local'), ...request }, { key, region, service, date: basicDate() })

afterEach(async () => {
  const answer = await send(provider.url, signed({}))
  expect(answer.status, 'the provider goes on after every hostile request').toBe(200)
})

describe('malformed requests get a 400 of AWS', () => {
  const target = (name: string): [string, string][] => [
    ['Host', 'kms.local'],
    ['X-Amz-Target', name],
    ['Content-Type', 'application/x-amz-json-1.1'],
  ]

  test.each([
    ['invalid JSON', 'TrentService.Decrypt', '{', 'SerializationException'],
    ['a list', 'TrentService.Decrypt', '[]', 'SerializationException'],
    ['a number for a text', 'TrentService.Decrypt', '{"CiphertextBlob":1}', 'SerializationException'],
    ['nothing', 'TrentService.Decrypt', '{}', 'ValidationException'],
    [
      'an invalid context',
      'TrentService.Decrypt',
      '{"CiphertextBlob":"YQ==","EncryptionContext":"x"}',
      'ValidationException',
    ],
    ['an unknown action', 'TrentService.Nothing', '{}', 'UnknownOperationException'],
    ['an action of another service', 'Logs_20140328.PutLogEvents', '{}', 'UnknownOperationException'],
    ['an inherited name', 'TrentService.constructor', '{}', 'UnknownOperationException'],
  ])('KMS with %s', async (_name, action, body, type) => {
    const answer = await send(provider.url, signed({ headers: target(action), body }, 'kms'))
    expect([answer.status, JSON.parse(answer.body).__type]).toEqual([400, type])
  })

  test('the refusal of an unknown service names the service', async () => {
    const answer = await send(provider.url, signed({}, 'dynamodb'))
    expect([answer.status, element(answer.body, 'Message')]).toEqual([
      400,
      "No service is scoped as 'dynamodb' here.",
    ])
  })

  test('an unsigned call of a JSON service is refused in JSON', async () => {
    const request = { ...callerIdentityPost('x'), headers: target('TrentService.Decrypt'), body: '{}' }
    const answer = await send(provider.url, request)
    expect(JSON.parse(answer.body).__type).toBe('MissingAuthenticationTokenException')
  })

  test('a body above 1 MiB is answered with 413, and a body of 1 MiB is read', async () => {
    const body = 'a'.repeat(1024 * 1024)
    expect((await send(provider.url, signed({ body }))).status).toBe(400)
    expect((await send(provider.url, signed({ body: `${body}a` }))).status).toBe(413)
  })
})

test('any request gets a 4xx answer, never a 5xx', async () => {
  const word = fc.oneof(
    fc.constantFrom(
      'Action',
      'GetCallerIdentity',
      'X-Amz-Signature',
      'X-Amz-Credential',
      '%',
      '%41',
      '&',
      '=',
      '/',
    ),
    fc.string({ maxLength: 8 }).map(encodeURIComponent),
  )
  const words = fc.array(word, { maxLength: 12 }).map(parts => parts.join(''))
  const authorization = fc.oneof(
    words.map(value => value.replaceAll('\n', '')),
    words.map(value => `AWS4-HMAC-SHA256 Credential=${value}, SignedHeaders=host, Signature=${value}`),
    words.map(
      value =>
        `AWS4-HMAC-SHA256 Credential=a/b/c/${value}/aws4_request, SignedHeaders=;${value}, Signature=0`,
    ),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST'),
      words,
      words,
      authorization,
      async (method, path, body, auth) => {
        const [head = '', query = ''] = path.split('?')
        const headers: [string, string][] = [
          ['Host', 'sts.amazonaws.com'],
          ['Content-Type', 'application/x-www-form-urlencoded'],
          ['X-Amz-Date', body.slice(0, 20)],
          ['Authorization', auth],
        ]
        const answer = await send(provider.url, { method, path: `/${head}`, query, headers, body })
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expect(answer.status).toBeLessThan(500)
      },
    ),
    { numRuns: 300 },
  )
})

test.each([
  ['an invalid path', 'GET * HTTP/1.1\r\nHost: x\r\n'],
  ['a whole URL', 'GET http://sts.amazonaws.com/?Action=GetCallerIdentity HTTP/1.1\r\nHost: x\r\n'],
  ['two hosts', 'POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n'],
  ['an unknown method', 'LIST / HTTP/1.1\r\nHost: x\r\n'],
  ['an endless escape', `GET /?${'%'.repeat(2000)} HTTP/1.1\r\nHost: x\r\n`],
])('%s is refused', async (_name, head) => {
  const socket = connect(Number(new URL(provider.url).port), '127.0.0.1')
  socket.write(`${head}Connection: close\r\n\r\n`)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 4\d\d /)
})
