import { describe, expect, test } from 'vitest'
import {
  type AlwaysServedCall,
  answer,
  answerAfterChanges,
  type CallOutcome,
  dataAnswer,
  type RequestPhases,
  type ResponseAuth,
} from '../../../shared/api/call.ts'
import {
  allowAnyone,
  allowByPolicy,
  declareEndpoint,
  type Endpoint,
  type EndpointGroup,
} from '../../../shared/api/endpoint.ts'
import { ApiError, errorCodes } from '../../../shared/api/errors.ts'
import { durationField } from '../../../shared/api/fields.ts'
import { createDispatcher } from '../../../shared/http/dispatch.ts'
import type { HttpRequest } from '../../../shared/http/request.ts'
import type { ClusterMode } from '../../../shared/model/cluster.ts'
import { accessorOfHash, storedTokenHashOf, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import { replaceItem } from '../../../shared/storage/changes.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { httpRequest } from '../../builders/http-request.ts'
import { portsWith } from '../../builders/ports.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, mount, NOW, token } from '../tokens/support.ts'

const changing = (call: AlwaysServedCall): CallOutcome =>
  answerAfterChanges([
    replaceItem(key('policy', 'x'), call.fetched.get(key('policy', 'x')), { text: String(call.now) }),
  ])

const group = (handle: Endpoint['handle'], first?: Endpoint['first']): EndpointGroup => ({
  name: 'things',
  endpoints: [
    declareEndpoint({
      method: 'POST',
      path: '/auth/:mount/thing/:role',
      summary: 'x',
      fields: { ttl: durationField('') },
      access: allowByPolicy('update'),
      answers: 'data',
      ...(first ? { first } : {}),
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/auth/:mount/open',
      summary: 'x',
      access: allowAnyone,
      answers: 'data',
      handle,
      handleWithoutMount: () => answer(dataAnswer({ nowhere: true })),
    }),
    declareEndpoint({
      method: 'GET',
      path: '/sys/alive',
      summary: 'x',
      access: allowAnyone,
      serves: 'always',
      answers: 'data',
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/sys/any-role',
      summary: 'x',
      access: allowByPolicy('update'),
      serves: 'dr',
      answers: 'data',
      handle,
    }),
    declareEndpoint({
      method: 'POST',
      path: '/sys/of-primary',
      summary: 'x',
      fields: { ttl: durationField('') },
      access: allowByPolicy('update'),
      serves: 'primary',
      answers: 'data',
      handle,
    }),
  ],
})

interface World {
  mode?: ClusterMode
  own?: Partial<Token>
  rules?: string
  verdicts?: ('done' | 'conflict')[]
  audit?: (entry: Record<string, unknown>) => void
  /** text of the token */
  text?: string
  first?: Endpoint['first']
}

/** Sends one request to a cluster with one mount and the token `hvs.t`, whose policy is `dev`. */
async function send(
  parts: Partial<HttpRequest>,
  handle: Endpoint['handle'] = () => answer(dataAnswer({ ok: true })),
  {
    mode = 'primary',
    own = {},
    rules = 'path "auth/cloud/*" { policy = "write" }',
    verdicts = [],
    audit = () => undefined,
    text = 'hvs.t',
    first,
  }: World = {},
) {
  const hash = await storedTokenHashOf(text, clearCipher)
  let hmacs = 0
  const items: Item[] = [
    clusterItem({ mode }),
    { ...key('mounts'), rev: 'r', data: { mounts: [mount()], removing: [] } },
    { ...key('policy', 'dev'), rev: 'r', data: { text: rules } },
    { ...key('token', accessorOfHash(hash)), rev: 'r', data: token({ hash, policies: ['dev'], ...own }) },
  ]
  const { store, commits, stored } = memoryStore(items, { verdicts })
  const ports = portsWith({
    store,
    cipher: {
      ...clearCipher,
      hmac: (given: string) => {
        if (given.startsWith('chosen token id')) hmacs += 1
        return clearCipher.hmac(given)
      },
      keysToRead: () => [],
      expectKeyring: () => undefined,
    },
    clock: { now: () => NOW, sleep: async () => {} },
    entropy: { uuid: () => 'r-1', bytes: (length: number) => Buffer.alloc(length, 3) },
    memory: {},
    audit: { write: async (entry: Record<string, unknown>) => audit(entry) },
  })
  const request = httpRequest({
    path: '/v1/auth/cloud/thing/a',
    headers: { 'x-vault-token': text },
    ...parts,
  })
  const { response, error } = await createDispatcher(group(handle, first), ports)(request)
  return {
    status: response.status,
    body: response.body === '' ? undefined : JSON.parse(response.body),
    error,
    commits,
    stored,
    hmacs,
  }
}

test('a token with a chosen ID is hashed once per attempt', async () => {
  const { status, hmacs } = await send({}, undefined, { text: 'chosen' })
  expect([status, hmacs]).toEqual([200, 1])
})

const NO_NAMESPACE =
  'unsupported path: the only namespace is root; leave out the header X-Vault-Namespace, ' +
  'or the part of the path before auth/ or sys/'

describe("the order of the dispatcher's checks", () => {
  const nobody = { headers: {} }
  const odd = '/v1/auth/cloud/../thing'

  test.each<
    [name: string, parts: Partial<HttpRequest>, world: World, status: number, text: string | undefined]
  >([
    [
      'the path is checked before the cluster role',
      { ...nobody, path: odd },
      { mode: 'secondary' },
      400,
      'the path holds a dot segment',
    ],
    [
      'the namespace is checked before the cluster role',
      { headers: { 'x-vault-namespace': 'a' } },
      { mode: 'secondary' },
      404,
      NO_NAMESPACE,
    ],
    [
      'the cluster role is checked before the body',
      { ...nobody, body: '{' },
      { mode: 'secondary' },
      400,
      'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
    ],
    [
      'the cluster role is checked even if no endpoint matches',
      { ...nobody, path: '/v1/nothing' },
      { mode: 'secondary' },
      400,
      'path disabled: this cluster is a DR secondary; send the request to its primary (GET sys/replication/dr/status shows it)',
    ],
    [
      'an unsupported operation of a path that secondaries serve is rejected',
      { ...nobody, method: 'POST', path: '/v1/sys/alive' },
      { mode: 'secondary' },
      405,
      'unsupported operation',
    ],
    ['the body is checked before the token', { ...nobody, body: '{' }, {}, 400, 'the body is not valid JSON'],
    ['the token is checked before the policy', nobody, { rules: '#' }, 403, 'permission denied'],
    [
      'the policy is checked before the parameters',
      { body: '{"ttl":"x"}' },
      { rules: '#' },
      403,
      'permission denied',
    ],
    [
      'invalid parameters are rejected',
      { body: '{"ttl":"x"}' },
      {},
      400,
      'Field validation failed: ttl must be a duration',
    ],
    [
      'the token is checked before a missing endpoint is reported',
      { ...nobody, path: '/v1/auth/cloud/nothing' },
      {},
      403,
      'permission denied',
    ],
    [
      'a missing endpoint gets 404',
      { path: '/v1/auth/cloud/nothing' },
      { rules: '#' },
      404,
      'unsupported path',
    ],
    [
      'the token is checked before an unsupported operation is reported',
      { ...nobody, method: 'DELETE' },
      {},
      403,
      'permission denied',
    ],
    ['an unsupported operation gets 405', { method: 'DELETE' }, { rules: '#' }, 405, 'unsupported operation'],
    [
      'the policy is checked before a missing mount is reported',
      { path: '/v1/auth/no/thing/a' },
      {},
      403,
      'permission denied',
    ],
    [
      'a missing mount gets 404',
      { path: '/v1/auth/no/thing/a' },
      { rules: 'path "*" { policy = "sudo" }' },
      404,
      'no handler for route "auth/no/thing/a"',
    ],
    [
      'the body of an anonymous request is checked',
      { ...nobody, path: '/v1/auth/no/open', body: '{' },
      {},
      400,
      'the body is not valid JSON',
    ],
    ['an expired token is rejected', {}, { own: { ttl: 5 } }, 403, errorCodes.invalid_token.always],
    [
      'a token used outside its bound CIDRs is rejected',
      {},
      { own: { boundCidrs: ['10.0.0.0/8'] } },
      403,
      'permission denied',
    ],
  ])('%s', async (_, parts, world, status, text) => {
    const reply = await send(parts, undefined, world)
    expect([reply.status, reply.body]).toEqual([status, { errors: [text] }])
  })

  test('a secondary serves `always` endpoints without reading the token', async () => {
    const reply = await send(
      { method: 'GET', path: '/v1/sys/alive', headers: { 'x-vault-token': 'wrong' } },
      undefined,
      { mode: 'secondary' },
    )
    expect(reply.status).toBe(200)
  })

  test('the endpoint itself rejects an anonymous request at a missing mount', async () => {
    const mounts: unknown[] = []
    const open = async (path: string) => {
      const reply = await send({ headers: {}, path }, call => {
        mounts.push(call.mount?.path)
        return answer(dataAnswer({ at: call.mount?.path }))
      })
      return [reply.status, (reply.body as { data?: unknown } | undefined)?.data]
    }
    expect(await open('/v1/auth/no/open')).toEqual([200, { nowhere: true }])
    expect(await open('/v1/auth/cloud/open')).toEqual([200, { at: 'cloud' }])
    expect(mounts).toEqual(['cloud'])
  })

  test('a token sent with an anonymous request is not read', async () => {
    expect((await send({ path: '/v1/auth/cloud/open', headers: { 'x-vault-token': 'wrong' } })).status).toBe(
      200,
    )
  })
})

describe('checking the cluster role', () => {
  const rules = 'path "*" { policy = "sudo" }'
  const anyRole = { path: '/v1/sys/any-role' }
  const ofPrimary = { path: '/v1/sys/of-primary' }

  test('a secondary authorises callers of any-role endpoints by its policies', async () => {
    expect((await send(anyRole, undefined, { mode: 'secondary', rules })).status).toBe(200)
    expect((await send(anyRole, undefined, { mode: 'secondary', rules: '#' })).status).toBe(403)
    expect((await send({ ...anyRole, headers: {} }, undefined, { mode: 'secondary', rules })).status).toBe(
      403,
    )
  })

  test('a secondary rejects wrapping and tokens with limited uses', async () => {
    const headers = { 'x-vault-token': 'hvs.t', 'x-vault-wrap-ttl': '60' }
    const wrapped = await send({ ...anyRole, headers }, undefined, { mode: 'secondary', rules })
    expect([wrapped.status, wrapped.body]).toEqual([
      400,
      { errors: ['X-Vault-Wrap-TTL cannot be used on a DR secondary, because it stores nothing of its own'] },
    ])
    const limited = await send(anyRole, undefined, { mode: 'secondary', rules, own: { numUses: 3 } })
    expect([limited.status, limited.commits]).toEqual([403, []])
  })

  test('the role is rejected only after the caller and the parameters are checked', async () => {
    const world = { mode: 'disabled', rules } as const
    expect((await send({ ...ofPrimary, headers: {} }, undefined, world)).status).toBe(403)
    expect((await send({ ...ofPrimary, body: '{"ttl":"x"}' }, undefined, world)).body.errors).toEqual([
      'Field validation failed: ttl must be a duration',
    ])
    const { status, body } = await send(ofPrimary, undefined, world)
    expect([status, body.errors[0]]).toEqual([400, expect.stringMatching(/^not a DR primary/)])
    expect((await send(ofPrimary, undefined, { rules })).status).toBe(200)
  })

  test('role refusals are counted in the audit log, other refusals have their own entries', async () => {
    const entries: Record<string, unknown>[] = []
    const audit = (entry: Record<string, unknown>) => void entries.push(entry)
    for (const mode of ['secondary', 'bootstrapping'] as const) {
      await send(ofPrimary, undefined, { mode, audit })
      await send({ path: '/v1/nothing' }, undefined, { mode, audit })
    }
    expect(entries.map(({ audit: kind, counts }) => [kind, counts])).toEqual([
      ['refusals', { 'POST /sys/of-primary': 1 }],
      ['refusals', { 'no endpoint': 1 }],
      ['refusals', { 'POST /sys/of-primary': 1 }],
      ['refusals', { 'no endpoint': 1 }],
    ])
    await send(ofPrimary, undefined, { mode: 'disabled', rules, audit })
    expect(entries.slice(4).map(({ audit: kind }) => kind)).toEqual(['request', 'response'])
  })
})

describe('committing the changes of a request', () => {
  /** Builds a request that calls AWS, and records the inputs of its phases. */
  const asking = (
    parts: Partial<RequestPhases<AlwaysServedCall>> = {},
    name: () => string = () => 'question',
  ) => {
    const walks: unknown[] = []
    const asked: string[] = []
    const phases: RequestPhases<AlwaysServedCall> = {
      gather: call => void walks.push(call.fetched.get(key('policy', 'x'))?.rev),
      ask: (_call, _gathered, ask) => {
        const question = name()
        return ask({
          key: question,
          ask: async () => void asked.push(question),
          leadsTo: () => [key('policy', 'x')],
        })
      },
      decide: changing,
      ...parts,
    }
    return { walks, asked, handle: { phases: () => phases } }
  }

  test('after a commit conflict a request is decided again without asking AWS again', async () => {
    const { walks, asked, handle } = asking()
    const reply = await send({}, handle, { verdicts: ['conflict', 'conflict'] })
    expect([reply.status, walks.length, asked.length, reply.commits.length]).toEqual([204, 3, 1, 1])
  })

  test("after a commit conflict, AWS is called again only if the call's parameters changed", async () => {
    let revision = 0
    const { asked, handle } = asking({}, () => `question ${++revision}`)
    await send({}, handle, { verdicts: ['conflict'] })
    expect(asked).toEqual(['question 1', 'question 2'])
  })

  test('a request with `rereads` is decided by the items stored after the AWS response', async () => {
    const once = asking({ rereads: true })
    const { status, commits } = await send({}, once.handle)
    expect([status, once.walks, commits.length]).toEqual([204, [undefined, undefined], 1])
    const raced = asking({ rereads: true })
    const reply = await send({}, raced.handle, { verdicts: ['conflict'] })
    expect([reply.status, raced.walks.length, raced.asked.length, reply.commits.length]).toEqual([
      204, 3, 1, 1,
    ])
  })

  test('after the first AWS response the request reads its items again before it gathers facts', async () => {
    const identities: unknown[] = []
    const { walks, asked, handle } = asking({
      rereads: true,
      identify: (_, ask) => ask({ key: 'who', ask: async () => 'somebody' }),
      ask: async () => undefined,
      gather: (_, identity) => void identities.push(identity),
    })
    const { status } = await send({}, handle)
    expect([status, identities, walks, asked]).toEqual([204, ['somebody'], [], []])
  })

  test('a failed AWS call ends the request and is not repeated', async () => {
    let calls = 0
    const { walks, handle } = asking({
      rereads: true,
      ask: (_call, _gathered, ask) =>
        ask({
          key: 'question',
          ask: async () => {
            calls += 1
            throw new ApiError('provider_failed', 'down')
          },
        }),
    })
    const reply = await send({}, handle)
    expect([reply.status, calls, walks.length]).toEqual([502, 1, 1])
  })

  test('a request whose AWS calls change in every round gets busy after four rounds', async () => {
    let revision = 0
    const { walks, handle } = asking({ rereads: true }, () => `question ${++revision}`)
    const reply = await send({}, handle)
    expect([reply.status, reply.error?.retryAfter, walks.length, reply.commits]).toEqual([503, 1, 5, []])
  })

  test('the `first` step of an endpoint runs once, and every commit attempt gets its result', async () => {
    let steps = 0
    const results: unknown[] = []
    const first = async () => ++steps
    const handle = (call: AlwaysServedCall, result: unknown) => {
      results.push(result)
      return changing(call)
    }
    const reply = await send({}, handle, { verdicts: ['conflict', 'conflict'], first })
    expect([reply.status, steps, results]).toEqual([204, 1, [1, 1, 1]])
  })

  test('a batch token is not issued with an outdated cluster record', async () => {
    const auth = { client_token: 'hvb.1' } as ResponseAuth
    const commit = () => Promise.reject(new ApiError('busy', 'the storage is busy'))
    const issue = (call: AlwaysServedCall) => {
      Object.assign(call.ports.store, { commit })
      return answer({ kind: 'auth', auth })
    }
    expect((await send({}, issue)).status).toBe(503)
    const read = (call: AlwaysServedCall) => {
      Object.assign(call.ports.store, { commit })
      return answer(dataAnswer({}))
    }
    expect((await send({}, read)).status).toBe(200)
  })

  test('a request that loses every commit gets busy with retry-after', async () => {
    const reply = await send({}, changing, { verdicts: Array(9).fill('conflict') })
    expect([reply.status, reply.error?.retryAfter, reply.commits]).toEqual([503, 1, []])
  })

  test('one use of a limited token is counted per request, even if the request fails', async () => {
    const place = key('token', accessorOfHash(tokenHashOf('hvs.t')))
    const used = async (parts: Partial<HttpRequest>, world: World) => {
      const { stored } = await send(parts, changing, { ...world, own: { numUses: 3 } })
      return (stored.at(place) as Item<'token'>).data.numUses
    }
    expect(await used({}, {})).toBe(2)
    expect(await used({}, { rules: '#' })).toBe(2)
    expect(await used({}, { verdicts: ['done', 'conflict'] })).toBe(2)
  })

  test("the endpoint's clean-up runs only after a successful commit", async () => {
    const order: string[] = []
    const outcome = (call: AlwaysServedCall): CallOutcome => ({
      ...changing(call),
      afterwards: async () => void order.push('cleaned'),
    })
    await send({}, outcome, { verdicts: Array(9).fill('conflict') })
    expect(order).toEqual([])
    await send({}, outcome)
    expect(order).toEqual(['cleaned'])
  })
})

describe('internal errors', () => {
  test('the client gets no details of an internal error', async () => {
    const reply = await send({}, () => {
      throw new TypeError('S3CRET')
    })
    expect([reply.status, reply.body]).toEqual([500, { errors: ['internal error'] }])
  })

  test.each(['request', 'response'])(
    'a request whose audit %s entry cannot be written fails',
    async missing => {
      const reply = await send({}, changing, {
        audit: entry => {
          if (entry['audit'] === missing) throw new Error('disk full')
        },
      }).catch((error: Error) => error)
      if (reply instanceof Error) throw reply
      expect(reply.status).toBe(500)
      if (missing === 'request') expect(reply.commits).toEqual([])
    },
  )
})

describe('wrapped responses', () => {
  const headers = { 'x-vault-token': 'hvs.t', 'x-vault-wrap-ttl': '60' }

  test('the response data is stored and the client gets a wrapping token', async () => {
    const { body, commits } = await send({ headers })
    expect(body).toMatchObject({
      data: null,
      auth: null,
      wrap_info: { ttl: 60, creation_path: 'auth/cloud/thing/a' },
    })
    const [change] = commits[0] ?? []
    const { response } = (change as unknown as { data: { response: string } }).data
    expect(JSON.parse(response.replace('encrypted response ', ''))).toMatchObject({
      data: { ok: true },
      wrap_info: null,
    })
  })

  test('neither an empty response nor an error is wrapped', async () => {
    expect((await send({ headers }, changing)).status).toBe(204)
    const refused = await send({ headers, body: '{"ttl":"x"}' })
    expect([refused.status, refused.commits]).toEqual([400, []])
  })
})
