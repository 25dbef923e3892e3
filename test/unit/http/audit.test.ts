import { describe, expect, test } from 'vitest'
import { type Answer, type Auth, answer, type Caller, nothing } from '../../../shared/api/call.ts'
import { anyone, endpoint } from '../../../shared/api/endpoint.ts'
import { ApiError } from '../../../shared/api/errors.ts'
import { list, text } from '../../../shared/api/fields.ts'
import { auditTrail, type Ending, type Seen } from '../../../shared/http/audit.ts'
import type { Intake } from '../../../shared/http/intake.ts'
import { noAccess } from '../../../shared/policies/access.ts'
import type { Ports } from '../../../shared/ports.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { mount, NOW, token } from '../tokens/support.ts'

const row = (parts: object = {}) =>
  endpoint({
    method: 'POST',
    path: '/auth/:mount/x',
    summary: 'x',
    fields: {
      role: text('A role'),
      names: list('Names'),
      proof: text('A proof', { secret: true, formerly: 'old_proof' }),
      label: text('A label', { formerly: 'old_label' }),
    },
    access: anyone,
    answers: 'nothing',
    handle: () => answer(nothing()),
    ...parts,
  })

const intake = (parts: Partial<Intake> = {}): Intake => ({
  found: { endpoint: row(), params: {}, path: 'auth/cloud/x' },
  facts: { id: 'r-1', path: 'auth/cloud/x', operation: 'write', source: '192.0.2.1', deadline: 0 },
  token: undefined,
  raw: {},
  given: {},
  warnings: [],
  keys: [],
  prepared: undefined,
  ...parts,
})

// biome-ignore lint/suspicious/noExplicitAny: entries are what the tests look into
type Entries = any[]

/** The entries of a request that ends in this way. */
async function entries(taken: Partial<Intake>, ending: Ending, seen: Seen = {}): Promise<Entries> {
  const written: Entries = []
  const ports = {
    audit: { write: async (entry: object) => void written.push(JSON.parse(JSON.stringify(entry))) },
    sealer: { hmac: async (value: string) => `hmac:${value.length}` },
    clock: { now: () => NOW },
  } as unknown as Ports
  const trail = auditTrail(intake(taken), ports)
  await trail.request(seen)
  await trail.response(ending)
  return written
}

const caller: Caller = {
  token: token({ meta: { role: 'dev' }, entity: { id: 'e-1', mount: 'm', alias: 'a' } }),
  accessor: 'acc-1',
  text: new Secret('hvs.S3CRET'),
  rights: noAccess,
  identityPolicies: ['ops'],
}
const done: Ending = { answer: { kind: 'nothing' } }

describe('the audit trail of a request: auth-behaviour 1.8', () => {
  test('is two entries that say who did what', async () => {
    const request = {
      id: 'r-1',
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
      await entries({ token: caller.text, raw: { role: 'dev' }, given: { role: 'dev' } }, done, {
        caller,
        mount: mount(),
      }),
    ).toEqual([
      { audit: 'request', time, request, auth },
      { audit: 'response', time, request, auth, response: {} },
    ])
  })

  test('holds the reason of a refusal, which its caller does not see', async () => {
    const error = new ApiError('permission_denied', 'role dev', { reason: { why: 'nonce' } })
    const [, response] = await entries({}, { error })
    expect(response).toMatchObject({
      response: { status: 403 },
      error: 'permission_denied',
      message: 'role dev',
      reason: { why: 'nonce' },
    })
  })

  test('is complete even where nothing was known before the failure', async () => {
    const written: Entries = []
    const ports = {
      audit: { write: async (entry: object) => void written.push(entry) },
      sealer: { hmac: async () => 'hmac' },
      clock: { now: () => NOW },
    } as unknown as Ports
    await auditTrail(intake(), ports).response({ error: new ApiError('path_disabled') })
    expect(written.map(entry => [entry.audit, entry.error])).toEqual([
      ['request', 'path_disabled'],
      ['response', 'path_disabled'],
    ])
  })
})

describe('nothing secret is in an entry', () => {
  const S = 'S3CRET'
  const answers: [name: string, answer: Answer, row?: object][] = [
    ['a token', { kind: 'auth', auth: { client_token: S, metadata: null } as Auth }],
    ['a nonce', { kind: 'auth', auth: { client_token: 'x', metadata: { nonce: S } } as unknown as Auth }],
    ['a secret field', { kind: 'data', data: { id: S } }, { secretAnswers: ['id'] }],
    [
      'what a caller wraps',
      { kind: 'data', data: { password: S, nested: { a: S } } },
      { freeForm: true, fields: {} },
    ],
    ['what was unwrapped', { kind: 'unwrapped', body: `{"data":"${S}"}` }],
    ['names', { kind: 'keys', keys: [S] }],
    ['keys of a new cluster', { kind: 'plain', status: 200, body: { root_token: S } }],
    [
      'a new wrapping token',
      { kind: 'wrapped', info: { token: S, accessor: 'a', ttl: 1, creation_time: 't', creation_path: 'p' } },
    ],
  ]

  test.each(answers)('of the answer: %s', async (_, given, parts = {}) => {
    const found = { endpoint: row(parts), params: {}, path: 'x' }
    expect(JSON.stringify(await entries({ found }, { answer: given }))).not.toContain(S)
  })

  test('of a wrapped answer: its token', async () => {
    const wrapped = { token: S, accessor: 'acc', ttl: 1, creation_time: 't', creation_path: 'p' }
    const written = await entries({}, { answer: { kind: 'data', data: {} }, wrapped })
    expect(JSON.stringify(written)).not.toContain(S)
    expect(written[1]).toMatchObject({ response: { wrap_info: { token: 'hmac:6', accessor: 'acc' } } })
  })

  test.each<[name: string, raw: Record<string, unknown>, parts?: object]>([
    ['a secret field', { proof: S }],
    ['by its older name', { old_proof: S }],
    ['of a wrong type', { proof: { a: [S] } }],
    ['under a name that is not known', { prof: S, PROOF: S, __proto: S }],
    ['of an endpoint that takes any', { password: S, role: S }, { freeForm: true, fields: {} }],
    ['where it could not be read', { role: [S], names: { a: S }, label: S }],
  ])('of the request: %s', async (_, raw, parts = {}) => {
    const found = { endpoint: row(parts), params: {}, path: 'x' }
    const written = await entries({ raw, found, token: new Secret(S) }, done)
    expect(JSON.stringify(written)).not.toContain(S)
    expect(Object.keys(written[0].request.data)).toEqual(Object.keys(raw))
  })

  test('what is no secret is there in clear', async () => {
    const raw = { role: 'dev', names: ['a'], label: 1, old_label: 'b' }
    const given = { role: 'dev', names: ['a'], label: 'b' }
    expect((await entries({ raw, given }, done))[0].request.data).toEqual(raw)
    const [, response] = await entries({}, { answer: { kind: 'data', data: { x: [1] }, warnings: ['w'] } })
    expect(response.response).toEqual({ data: { x: [1] }, warnings: ['w'] })
  })
})
