import { describe, expect, test } from 'vitest'
import { answer, noContentAnswer } from '../../../shared/api/call.ts'
import { allowAnyone, declareEndpoint } from '../../../shared/api/endpoint.ts'
import {
  checkNamespace,
  checkRequestHead,
  operationOf,
  readRequestParameters,
  readTokenHeader,
  wrapTtlOf,
} from '../../../shared/http/read-request.ts'
import type { HttpRequest } from '../../../shared/http/request.ts'
import { httpRequest } from '../../builders/http-request.ts'

const row = (parts: object = {}) =>
  declareEndpoint({
    method: 'POST',
    path: '/x',
    summary: 'x',
    access: allowAnyone,
    answers: 'nothing',
    handle: () => answer(noContentAnswer()),
    ...parts,
  })

const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('the size of the request head', () => {
  const LARGEST = 12 * 1024
  const base = '/v1/x'.length
  test.each<[string, (bytes: number) => Partial<HttpRequest>]>([
    ['a long path', bytes => ({ path: `/v1/x${'y'.repeat(bytes)}` })],
    ['a long header', bytes => ({ headers: { a: 'y'.repeat(bytes - 1) } })],
    [
      'many headers',
      bytes => ({ headers: { a: 'y'.repeat(100), b: 'é'.repeat(50), c: 'y'.repeat(bytes - 203) } }),
    ],
    ['a long query', bytes => ({ query: [['a', 'y'.repeat(bytes - 1)]] })],
  ])('a head of 12 KiB is accepted and one more byte rejected: %s', (_, parts) => {
    expect(() => checkRequestHead(httpRequest(parts(LARGEST - base)))).not.toThrow()
    expect(codeOf(() => checkRequestHead(httpRequest(parts(LARGEST - base + 1))))).toBe('head_too_large')
  })
})

describe('mapping HTTP verbs to operations', () => {
  test.each([
    ['GET', 'read'],
    ['HEAD', 'read'],
    ['POST', 'write'],
    ['PUT', 'write'],
    ['LIST', 'list'],
    ['DELETE', 'delete'],
    ['OPTIONS', undefined],
    ['get', undefined],
    ['constructor', undefined],
    ['__proto__', undefined],
    ['', undefined],
  ])('the verb %j means %s', (method, operation) =>
    expect(operationOf(httpRequest({ method }))).toBe(operation),
  )

  test.each([
    ...['1', 't', 'T', 'TRUE', 'true', 'True'].map(word => [word, 'list']),
    ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map(word => [word, 'read']),
    ...['', 'yes', 'tRUE', ' true'].map(word => [word, 'unclear_list_flag']),
  ])('GET with list=%j means %s', (word, operation) => {
    expect(codeOf(() => operationOf(httpRequest({ method: 'GET', query: [['list', word ?? '']] })))).toBe(
      operation,
    )
  })

  test('the list flag only affects GET requests', () => {
    expect(operationOf(httpRequest({ method: 'POST', query: [['list', 'true']] }))).toBe('write')
    expect(operationOf(httpRequest({ method: 'DELETE', query: [['list', 'oops']] }))).toBe('delete')
  })

  test('a PATCH request is first checked for its content type', () => {
    const patch = (type: string) => () =>
      operationOf(httpRequest({ method: 'PATCH', headers: { 'content-type': type } }))
    expect(codeOf(patch('application/json'))).toBe('unsupported_media_type')
    expect(codeOf(patch('application/merge-patch+jsonx'))).toBe('unsupported_media_type')
    expect(codeOf(patch('application/merge-patch+json; charset=utf-8'))).toBeUndefined()
  })
})

describe('reading the token from the headers', () => {
  test.each<[name: string, headers: Record<string, string>, token: string | undefined]>([
    ['X-Vault-Token', { 'x-vault-token': 'a' }, 'a'],
    ['X-Service-Token', { 'x-service-token': 'b' }, 'b'],
    ['Authorization', { authorization: 'Bearer c' }, 'c'],
    [
      'X-Vault-Token wins over other headers',
      { authorization: 'Bearer c', 'x-service-token': 'b', 'x-vault-token': 'a' },
      'a',
    ],
    ['X-Service-Token wins over Authorization', { authorization: 'Bearer c', 'x-service-token': 'b' }, 'b'],
    ['an empty X-Vault-Token, then Authorization', { 'x-vault-token': '', authorization: 'Bearer c' }, 'c'],
    ['a bearer token next to other values', { authorization: 'Basic x, Bearer c' }, 'c'],
    ['bearer in lower case', { authorization: 'bearer c' }, undefined],
    ['another Authorization scheme', { authorization: 'Basic Bearer' }, undefined],
    ['a scheme that ends with Bearer', { authorization: 'XBearer c' }, undefined],
    ['nothing', {}, undefined],
  ])('%s: $2', (_, headers, token) => expect(readTokenHeader(httpRequest({ headers }))?.reveal()).toBe(token))

  test('a printed token shows a placeholder', () => {
    expect(`${readTokenHeader(httpRequest({ headers: { 'x-vault-token': 'hvs.a' } }))}`).not.toContain(
      'hvs.a',
    )
  })

  test('a token longer than 8 KiB is rejected', () => {
    const token = (length: number) => () =>
      readTokenHeader(httpRequest({ headers: { 'x-vault-token': 'a'.repeat(length) } }))
    expect(token(8192)()?.reveal()).toHaveLength(8192)
    expect(codeOf(token(8193))).toBe('head_too_large')
  })
})

describe('namespaces: GHSA-mwr2-wmgp-crj6', () => {
  const namespace = (given: string, header = 'x-vault-namespace') =>
    codeOf(() => checkNamespace(httpRequest({ headers: { [header]: given } }), 'auth/cloud/login'))

  test.each(['', '/', 'root', 'root/', '/root'])('%j is the root namespace', given => {
    expect(namespace(given)).toBeUndefined()
    expect(namespace(given, 'x-service-namespace')).toBeUndefined()
  })

  test.each([
    ['a', 'unsupported_path'],
    ['a/b/', 'unsupported_path'],
    ['ROOT', 'unsupported_path'],
    ['root/root', 'unsupported_path'],
    ['..', 'invalid_request'],
    ['a/../root', 'invalid_request'],
    ['a//b', 'invalid_request'],
    ['//', 'invalid_request'],
    ['.', 'invalid_request'],
  ])('the namespace %j is rejected with %s', (given, code) => {
    expect(namespace(given)).toBe(code)
    expect(namespace(given, 'x-service-namespace')).toBe(code)
  })

  test('both namespace headers are checked', () => {
    const headers = { 'x-vault-namespace': 'root', 'x-service-namespace': 'a' }
    expect(codeOf(() => checkNamespace(httpRequest({ headers }), 'auth/cloud/login'))).toBe(
      'unsupported_path',
    )
  })

  test.each([
    ['a/auth/cloud/login', 'unsupported_path'],
    ['a/b/sys/health', 'unsupported_path'],
    ['root/auth/cloud/login', 'unsupported_path'],
    ['auth/cloud/login', undefined],
    ['auth/auth/login', undefined],
    ['sys/auth/cloud', undefined],
    ['identity/entity/id', undefined],
  ])('a path that begins with a namespace is rejected: %s', (path, code) => {
    expect(codeOf(() => checkNamespace(httpRequest(), path))).toBe(code)
  })
})

test.each([
  [undefined, undefined],
  ['', undefined],
  ['0', undefined],
  ['60', 60],
  ['1m', 60],
  ['768h', 2_764_800],
  ['2764801', 'invalid_request'],
  ['-1', 'invalid_request'],
  ['soon', 'invalid_request'],
  ['99999999999', 'invalid_request'],
])('X-Vault-Wrap-TTL %j gives %s', (given, wanted) => {
  for (const name of ['x-vault-wrap-ttl', 'x-service-wrap-ttl']) {
    const headers = given === undefined ? {} : { [name]: given }
    expect(codeOf(() => wrapTtlOf(httpRequest({ headers })))).toBe(wanted)
  }
})

describe('reading the parameters of a request', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const read = (
    parts: Partial<HttpRequest>,
    of: object = {},
    operation: 'write' | 'read' | 'delete' = 'write',
  ) => {
    const given = codeOf(() => readRequestParameters(httpRequest(parts), operation, row(of)))
    return typeof given === 'object' ? { ...given } : given
  }

  test.each<[name: string, parts: Partial<HttpRequest>, wanted: unknown]>([
    ['an object', { body: '{"a":1}' }, { a: 1 }],
    ['nothing', { body: '' }, {}],
    ['a body of white space', { body: ' \n' }, {}],
    [
      'an object of any content type',
      { body: '{"a":1}', headers: { 'content-type': 'text/plain' } },
      { a: 1 },
    ],
    ['a form', { body: 'a=1&b=x+y%2B', headers: form }, { a: '1', b: 'x y+' }],
    ['a form with a repeated name', { body: 'a=1&a=2&a=3', headers: form }, { a: ['1', '2', '3'] }],
    ['JSON that curl calls a form', { body: ' {"a":1}', headers: form }, { a: 1 }],
    ['a list that curl calls a form', { body: '[1]', headers: form }, 'invalid_request'],
    ['a form without form content type', { body: 'a=1' }, 'invalid_request'],
    ['an object with a repeated key', { body: '{"a":1,"a":2}' }, { a: 2 }],
    ['a JSON list', { body: '[]' }, 'invalid_request'],
    ['null', { body: 'null' }, {}],
    ['null among white space', { body: ' null\n' }, {}],
    ['null in a list', { body: '[null]' }, 'invalid_request'],
    ['null as a text', { body: '"null"' }, 'invalid_request'],
    ['a JSON string', { body: '"a"' }, 'invalid_request'],
    ['an incomplete object', { body: '{"a":' }, 'invalid_request'],
    ['a lone surrogate', { body: '{"a":"\\ud800"}' }, 'invalid_request'],
    ['a number that loses digits', { body: '{"a":9007199254740993}' }, 'invalid_request'],
    ['depth', { body: `${'{"a":'.repeat(64)}1${'}'.repeat(64)}` }, expect.anything()],
    ['an object nested too deeply', { body: `${'{"a":'.repeat(65)}1${'}'.repeat(65)}` }, 'invalid_request'],
    ['a list with too many elements', { body: `{"a":[${'1,'.repeat(10_000)}1]}` }, 'invalid_request'],
    ['a form with too many names', { body: 'a=1&'.repeat(10_001), headers: form }, 'invalid_request'],
    ['a body over 1 MiB', { body: '{}', bodyLength: 1024 * 1024 + 1 }, 'too_large'],
    ['a body of exactly 1 MiB', { body: '{}', bodyLength: 1024 * 1024 }, {}],
  ])('the body %s gives $2', (_, parts, wanted) => expect(read(parts)).toEqual(wanted))

  test("an endpoint may limit the body's bytes and reject repeated keys", () => {
    expect(read({ body: '{}', bodyLength: 65 }, { largestBody: 64 })).toBe('too_large')
    expect(read({ body: '{"a":1,"\\u0061":2}' }, { uniqueKeys: true })).toBe('invalid_request')
    expect(read({ body: '{"a":{"b":1},"c":{"b":2}}' }, { uniqueKeys: true })).toEqual({
      a: { b: 1 },
      c: { b: 2 },
    })
  })

  test.each(['read', 'delete'] as const)(
    'a %s request takes its parameters from the query and ignores the body',
    operation => {
      const query: [string, string][] = [
        ['a', '1'],
        ['a', '2'],
        ['list', 'true'],
      ]
      expect(read({ query, body: '{"b":1}' }, {}, operation)).toEqual({ a: ['1', '2'] })
    },
  )

  test('a write ignores the query', () => expect(read({ query: [['a', '1']] })).toEqual({}))

  test('parameter names such as __proto__ are ordinary names', () => {
    const given = readRequestParameters(
      httpRequest({ body: '__proto__=1&constructor=2', headers: form }),
      'write',
      row(),
    )
    expect(Object.entries(given)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
    ])
  })

  test('error texts never quote the body', () => {
    for (const body of ['{"S3CRET', '{"a":"S3CRET"', '"S3CRET"', '{"a":S3CRET}']) {
      expect(() => readRequestParameters(httpRequest({ body }), 'write', row())).toThrow(/^((?!S3CRET).)*$/)
    }
  })
})

describe('unusual request encodings', () => {
  const parameters = (parts: Partial<HttpRequest>) =>
    readRequestParameters(httpRequest(parts), 'write', row())

  test.each(['yes', ''])('a list flag of %j is rejected with the allowed values', flag => {
    expect(() => operationOf(httpRequest({ method: 'GET', query: [['list', flag]] }))).toThrow(
      `list must be true or false, not ${JSON.stringify(flag)}: a request with "?list=true" lists the path, and a request without list reads the path`,
    )
  })

  test.each([
    'application/x-www-form-urlencoded',
    'Application/X-WWW-Form-URLEncoded; Charset=UTF-8',
    'APPLICATION/X-WWW-FORM-URLENCODED',
  ])('the content type %s is read as a form', type => {
    expect(parameters({ headers: { 'content-type': type }, body: 'a=1' })).toMatchObject({ a: '1' })
  })

  test('the content type of a patch is case-insensitive', () => {
    const headers = { 'content-type': 'Application/Merge-Patch+JSON' }
    expect(operationOf(httpRequest({ method: 'PATCH', headers }))).toBeUndefined()
  })

  test('a byte order mark before the body is skipped', () => {
    expect(parameters({ body: '\ufeff{"a":1}' })).toEqual({ a: 1 })
    expect(parameters({ body: '\ufeff' })).toEqual({})
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(parameters({ headers, body: '\ufeffa=1' })).toMatchObject({ a: '1' })
  })

  test.each(['gzip', 'GZIP', 'br', 'deflate, gzip'])(
    'a body with Content-Encoding %s is rejected with an error that names the encoding',
    encoding => {
      const work = () => parameters({ headers: { 'content-encoding': encoding }, body: 'x' })
      expect(codeOf(work)).toBe('unsupported_media_type')
      expect(work).toThrow(`Content-Encoding "${encoding}" is not supported`)
    },
  )

  test.each(['', 'identity', 'Identity'])('a body with Content-Encoding %j is read', encoding => {
    expect(parameters({ headers: { 'content-encoding': encoding }, body: '{"a":1}' })).toEqual({ a: 1 })
  })

  test('a Content-Encoding without a body is ignored', () => {
    expect(parameters({ headers: { 'content-encoding': 'gzip' } })).toEqual({})
  })
})
