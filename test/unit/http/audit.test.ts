import { describe, expect, test } from 'vitest'
import {
  type Answer,
  answer,
  type Caller,
  noContentAnswer,
  type ResponseAuth,
} from '../../../shared/api/call.ts'
import { allowAnyone, declareEndpoint } from '../../../shared/api/endpoint.ts'
import { ApiError } from '../../../shared/api/errors.ts'
import { listField, textField } from '../../../shared/api/fields.ts'
import { type AuditedCaller, createAuditTrail, type RequestResult } from '../../../shared/http/audit.ts'
import type { RequestIntake } from '../../../shared/http/intake.ts'
import { noAccessAcl } from '../../../shared/policies/access.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { portsWith } from '../../builders/ports.ts'
import { mount, NOW, token } from '../tokens/support.ts'

const row = (parts: object = {}) =>
  declareEndpoint({
    method: 'POST',
    path: '/auth/:mount/x',
    summary: 'x',
    fields: {
      role: textField('A role'),
      names: listField('Names'),
      proof: textField('A proof', { secret: true, formerly: 'old_proof' }),
      label: textField('A label', { formerly: 'old_label' }),
    },
    access: allowAnyone,
    answers: 'nothing',
    handle: () => answer(noContentAnswer()),
    ...parts,
  })

const intake = (parts: Partial<RequestIntake> = {}): RequestIntake => ({
  match: { kind: 'endpoint' as const, endpoint: row(), pathParameters: {}, path: 'auth/cloud/x' },
  facts: {
    id: 'r-1',
    gatewayId: 'g-1',
    path: 'auth/cloud/x',
    operation: 'write',
    source: '192.0.2.1',
    domain: '',
    deadline: 0,
  },
  token: undefined,
  raw: {},
  parameters: {},
  warnings: [],
  unknownFields: false,
  keys: [],
  prepared: undefined,
  ...parts,
})

// biome-ignore lint/suspicious/noExplicitAny: entries are what the tests look into
type Entries = any[]

/** Returns the audit entries of a request with a given ending. */
async function entries(
  taken: Partial<RequestIntake>,
  ending: RequestResult,
  seen: AuditedCaller = {},
): Promise<Entries> {
  const written: Entries = []
  const ports = portsWith({
    audit: { write: async (entry: object) => void written.push(JSON.parse(JSON.stringify(entry))) },
    cipher: { hmac: async (value: string) => `hmac:${value.length}` },
    clock: { now: () => NOW },
  })
  const trail = createAuditTrail(intake(taken), ports)
  await trail.request(seen)
  await trail.response(ending)
  return written
}

const caller: Caller = {
  token: token({ meta: { role: 'dev' }, entity: { id: 'e-1', mount: 'm', alias: 'a' } }),
  accessor: 'acc-1',
  text: new Secret('hvs.S3CRET'),
  rights: noAccessAcl,
  identityPolicies: ['ops'],
}
const done: RequestResult = { kind: 'answered', answer: { kind: 'nothing' } }

describe('the audit trail of a request', () => {
  test('a request writes two entries with its caller and operation', async () => {
    const request = {
      id: 'r-1',
      gateway_id: 'g-1',
      operation: 'write',
      path: 'auth/cloud/x',
      remote_address: '192.0.2.1',
      mount_accessor: 'auth_cloud_1',
      mount_type: 'cloud',
      client_token: 'hmac:10',
      data: { role: 'dev' },
    }
    const auth = {
      accessor: 'acc-1',
      display_name: 'cloud-dev',
      entity_id: 'e-1',
      metadata: { role: 'dev' },
      policies: ['default', 'dev'],
      identity_policies: ['ops'],
      token_type: 'service',
    }
    const time = '2027-01-15T08:00:00.25Z'
    expect(
      await entries({ token: caller.text, raw: { role: 'dev' }, parameters: { role: 'dev' } }, done, {
        caller,
        mount: mount(),
      }),
    ).toEqual([
      { audit: 'request', time, request, auth },
      { audit: 'response', time, request, auth, response: {} },
    ])
  })

  test('the entry contains the reason of a refusal, which the client does not get', async () => {
    const error = new ApiError('permission_denied', 'role dev', { reason: { why: 'nonce' } })
    const [, response] = await entries({}, { kind: 'failed', error })
    expect(response).toMatchObject({
      response: { status: 403 },
      error: 'permission_denied',
      message: 'role dev',
      reason: { why: 'nonce' },
    })
  })

  test('a request that failed before its caller was known writes both entries', async () => {
    const written: Entries = []
    const ports = portsWith({
      audit: { write: async (entry: object) => void written.push(entry) },
      cipher: { hmac: async () => 'hmac' },
      clock: { now: () => NOW },
    })
    await createAuditTrail(intake(), ports).response({
      kind: 'failed',
      error: new ApiError('permission_denied'),
    })
    expect(written.map(entry => [entry.audit, entry.error])).toEqual([
      ['request', 'permission_denied'],
      ['response', 'permission_denied'],
    ])
  })
})

describe("values selected by the mount's tuning", () => {
  const tuned = mount({
    options: { audit_non_hmac_request_keys: ['proof', 'extra'], audit_non_hmac_response_keys: ['tag'] },
  })
  const raw = { proof: 'p', extra: 'e', other: 'o' }
  const ending: RequestResult = {
    kind: 'answered',
    answer: { kind: 'data', data: { tag: 't', id: 'i', proof: 'p' } },
  }
  const found = {
    kind: 'endpoint' as const,
    endpoint: row({ secretAnswers: ['tag', 'id', 'proof'] }),
    pathParameters: {},
    path: 'x',
  }

  test('selected request and response keys appear in plain text in their own entry only', async () => {
    const [request, response] = await entries({ raw, parameters: raw, match: found }, ending, { tuned })
    const data = { proof: 'p', extra: 'e' }
    expect(request.request).toMatchObject({ data, unknown: { count: 1 } })
    expect(request.request.data).toEqual(data)
    expect(response).toMatchObject({
      request: { data },
      response: { data: { tag: 't', id: 'hmac:1', proof: 'hmac:1' } },
    })
  })

  test('the selection does not apply to requests to other mounts', async () => {
    const [request, response] = await entries({ raw, parameters: raw, match: found }, ending, {
      mount: mount(),
    })
    expect(request.request.data).toEqual({ proof: 'hmac:1' })
    expect(request.request.unknown.count).toBe(2)
    expect(response.response.data).toEqual({ tag: 'hmac:1', id: 'hmac:1', proof: 'hmac:1' })
  })

  test('the nonce and the token of a login are always hashed', async () => {
    const all = ['nonce', 'client_token', 'auth', 'metadata']
    const auth = { client_token: 'S3CRET', metadata: { nonce: 'S3CRET' } } as unknown as ResponseAuth
    const seen = { tuned: mount({ options: { audit_non_hmac_response_keys: all } }) }
    expect(
      JSON.stringify(await entries({}, { kind: 'answered', answer: { kind: 'auth', auth } }, seen)),
    ).not.toContain('S3CRET')
  })
})

describe('secrets in audit entries', () => {
  const S = 'S3CRET'
  const answers: [name: string, answer: Answer, row?: object][] = [
    ['a token', { kind: 'auth', auth: { client_token: S, metadata: null } as ResponseAuth }],
    [
      'a nonce',
      { kind: 'auth', auth: { client_token: 'x', metadata: { nonce: S } } as unknown as ResponseAuth },
    ],
    ['a secret field', { kind: 'data', data: { id: S } }, { secretAnswers: ['id'] }],
    [
      'the data that a caller wraps',
      { kind: 'data', data: { password: S, nested: { a: S } } },
      { freeForm: true, fields: {} },
    ],
    ['the data that a caller unwraps', { kind: 'unwrapped', body: `{"data":"${S}"}` }],
    ['the keys of a list', { kind: 'keys', keys: [S] }],
    ['keys of a new cluster', { kind: 'plain', status: 200, body: { root_token: S } }],
    [
      'a new wrapping token',
      { kind: 'wrapped', info: { token: S, accessor: 'a', ttl: 1, creation_time: 't', creation_path: 'p' } },
    ],
  ]

  test.each(answers)('the response value is hashed: %s', async (_, given, parts = {}) => {
    const found = { kind: 'endpoint' as const, endpoint: row(parts), pathParameters: {}, path: 'x' }
    expect(
      JSON.stringify(await entries({ match: found }, { kind: 'answered', answer: given })),
    ).not.toContain(S)
  })

  test('the token of a wrapped response is hashed', async () => {
    const wrapped = { token: S, accessor: 'acc', ttl: 1, creation_time: 't', creation_path: 'p' }
    const written = await entries({}, { kind: 'answered', answer: { kind: 'data', data: {} }, wrapped })
    expect(JSON.stringify(written)).not.toContain(S)
    expect(written[1]).toMatchObject({ response: { wrap_info: { token: 'hmac:6', accessor: 'acc' } } })
  })

  test.each<[name: string, raw: Record<string, unknown>, parts?: object]>([
    ['a secret field', { proof: S }],
    ['a secret field by its alias', { old_proof: S }],
    ['a secret field with a value of the wrong type', { proof: { a: [S] } }],
    ['other fields with values of the wrong type', { role: [S], names: { a: S }, label: S }],
  ])('the request value is hashed: %s', async (_, raw, parts = {}) => {
    const found = { kind: 'endpoint' as const, endpoint: row(parts), pathParameters: {}, path: 'x' }
    const written = await entries({ raw, match: found, token: new Secret(S) }, done)
    expect(JSON.stringify(written)).not.toContain(S)
    expect(Object.keys(written[0].request.data)).toEqual(Object.keys(raw))
  })

  test.each<[name: string, raw: Record<string, unknown>, parts?: object]>([
    ['unknown parameters', { prof: S, [S]: 1, __proto: S }],
    ['all parameters of an endpoint without a schema', { password: S, [S]: [S], role: S }, { fields: {} }],
    ['a parameter named __proto__', JSON.parse(`{"a":1,"__proto__":{"${S}":"${S}"},"b":"${S}"}`)],
  ])('the request parameters are one count and one HMAC: %s', async (_, raw, parts = {}) => {
    const found = { kind: 'endpoint' as const, endpoint: row(parts), pathParameters: {}, path: 'x' }
    const backwards = Object.fromEntries(Object.entries(raw).reverse())
    for (const given of [raw, backwards]) {
      const [request] = await entries({ raw: given, match: found }, done)
      expect(JSON.stringify(request)).not.toContain(S)
      expect(request.request.data).toEqual({})
      const text = JSON.stringify(
        Object.fromEntries(Object.entries(raw).sort(([a], [b]) => (a < b ? -1 : 1))),
      )
      expect(request.request.unknown).toEqual({ count: 3, hmac: `hmac:${text.length}` })
    }
  })

  test('known parameters are shown next to the HMAC of the unknown ones', async () => {
    const raw = { role: 'dev', prof: S }
    const [{ request }] = await entries({ raw, parameters: { role: 'dev' } }, done)
    expect([request.data, request.unknown]).toEqual([
      { role: 'dev' },
      { count: 1, hmac: `hmac:${JSON.stringify({ prof: S }).length}` },
    ])
  })

  test.each<[typed: string, shown: string]>([
    ['auth/token/lookup/chosen', 'auth/token/lookup/hmac:6'],
    ['auth/token/lookup/hvs.CAESIJ', 'auth/token/lookup/hmac:10'],
    ['auth/token/lookup-accessor/chosen', 'auth/token/lookup-accessor/hmac:6'],
    ['auth/token/revoke/a/b', 'auth/token/revoke/hmac:3'],
    ['auth/token/revoke-orphan/chosen', 'auth/token/revoke-orphan/hmac:6'],
    ['auth/token/renew/chosen', 'auth/token/renew/hmac:6'],
    ['auth/token/renew-self/chosen', 'auth/token/renew-self/hmac:6'],
    ['auth/token/revoke-prefix/auth/cloud', 'auth/token/revoke-prefix/hmac:10'],
    ['auth/token/chosen', 'auth/token/hmac:6'],
    ['auth/token/chosen/lookup', 'auth/token/hmac:13'],
    ['auth/token/', 'auth/token/'],
    ['auth/token/lookup/', 'auth/token/lookup/'],
    ['auth/cloud/lookup/chosen', 'auth/cloud/lookup/hmac:6'],
    ['auth/cloud/hvs.chosen', 'auth/cloud/hmac:10'],
    ['AUTH/token/lookup/chosen', 'AUTH/token/hmac:13'],
    ['sys/wrapping/unwrap/chosen', 'sys/wrapping/hmac:13'],
    ['sys/renew/chosen', 'sys/renew/hmac:6'],
    ['sys/s.chosen', 'sys/hmac:8'],
    ['cubbyhole/hvb.chosen', 'cubbyhole/hmac:10'],
    ['hvs.chosen', 'hmac:10'],
    ['auth/cloud/no-such-thing', 'auth/cloud/no-such-thing'],
    ['sys/no-such-thing', 'sys/no-such-thing'],
  ])('a possible token in an unknown path is hidden: %s', async (path, shown) => {
    const found = { kind: 'miss', miss: 'path', open: false, pathParameters: {}, path } as const
    const facts = { ...intake().facts, path }
    const error = new ApiError('no_such_mount', `no handler for "${path}"`)
    const written = await entries({ match: found, facts }, { kind: 'failed', error })
    expect(written.map((entry: { request: { path: string } }) => entry.request.path)).toEqual([shown, shown])
    expect(written[1].message).toBe(`no handler for "${shown}"`)
  })

  test('a possible token in a help path is hashed', async () => {
    const path = 'auth/hvs.secret'
    const help = row({ access: { by: 'token' }, method: 'GET', path: '/auth/:mount?help' })
    const taken = {
      match: { kind: 'endpoint' as const, endpoint: help, pathParameters: {}, path },
      facts: { ...intake().facts, path },
    }
    expect(JSON.stringify(await entries(taken, done))).not.toContain('secret')
  })

  test('values that are not secret appear in plain text', async () => {
    const raw = { role: 'dev', names: ['a'], label: 1, old_label: 'b' }
    const given = { role: 'dev', names: ['a'], label: 'b' }
    expect((await entries({ raw, parameters: given }, done))[0].request.data).toEqual(raw)
    const [, response] = await entries(
      {},
      { kind: 'answered', answer: { kind: 'data', data: { x: [1] }, warnings: ['w'] } },
    )
    expect(response.response).toEqual({ data: { x: [1] }, warnings: ['w'] })
  })
})

describe('oversized requests still write their entries', () => {
  const bytes = (entry: unknown) => Buffer.byteLength(JSON.stringify(entry))
  const long = (length: number) => 'x'.repeat(length)

  test.each<[name: string, parts: Parameters<typeof entries>, expected: object]>([
    [
      'a long value of a parameter',
      [{ raw: { role: long(70_000) }, parameters: { role: long(70_000) } }, done],
      { request: { data: { role: { length: 70_000, hmac: 'hmac:70000' } } } },
    ],
    [
      'a long display name of the token',
      [{}, done, { caller: { ...caller, token: token({ displayName: long(300_000) }) } }],
      { auth: { accessor: 'acc-1', display_name: { length: 300_000, hmac: 'hmac:300000' } } },
    ],
    [
      'many metadata entries of the token',
      [
        {},
        done,
        {
          caller: {
            ...caller,
            token: token({
              meta: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`m${index}`, 'v'])),
            }),
          },
        },
      ],
      { auth: { accessor: 'acc-1', metadata: { length: expect.any(Number), hmac: expect.any(String) } } },
    ],
    [
      'a long name of a parameter',
      [{ raw: { [long(900_000)]: 1 } }, done],
      { request: { unknown: { count: 1, hmac: expect.any(String) } } },
    ],
    [
      'a parameter with a long list',
      [{ raw: { names: Array(9000).fill('name') }, parameters: { names: Array(9000).fill('name') } }, done],
      { request: { data: { names: { length: 63_001, hmac: 'hmac:63001' } } } },
    ],
    [
      'a request with a long path',
      [{ facts: { ...intake().facts, path: `auth/cloud/${long(40_000)}` } }, done],
      { request: { id: 'r-1', path: { length: 40_011, hmac: 'hmac:40011' } } },
    ],
  ])('the audit entry stays within its size limit: %s', async (_, parts, expected) => {
    const written = await entries(...parts)
    expect(written).toHaveLength(2)
    for (const entry of written) expect(bytes(entry)).toBeLessThanOrEqual(32 * 1024)
    expect(written[0]).toMatchObject(expected)
  })

  test('an oversized response or reason still writes its entry', async () => {
    const data = {
      kept: 1,
      ...Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${long(900)}${i}`, 'x'])),
    }
    const [, response] = await entries(
      {},
      { kind: 'answered', answer: { kind: 'data', data, warnings: [long(50_000)] } },
    )
    expect(bytes(response)).toBeLessThanOrEqual(32 * 1024)
    expect(response.response.data).toEqual({ length: bytes(data), hmac: expect.any(String) })
    const error = new ApiError('permission_denied', long(40_000), {
      reason: { why: 'nonce', found: long(40_000) },
    })
    const [, refused] = await entries({}, { kind: 'failed', error })
    expect(bytes(refused)).toBeLessThanOrEqual(32 * 1024)
    expect(refused).toMatchObject({ error: 'permission_denied', reason: { why: 'nonce' } })
  })
})
