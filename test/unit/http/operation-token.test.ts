import { describe, expect, test } from 'vitest'
import { answer, type Call, dataAnswer } from '../../../shared/api/call.ts'
import { allowOperationToken, declareEndpoint, type EndpointGroup } from '../../../shared/api/endpoint.ts'
import { errorCodes } from '../../../shared/api/errors.ts'
import { boolField } from '../../../shared/api/fields.ts'
import { createDispatcher } from '../../../shared/http/dispatch.ts'
import type { ClusterMode } from '../../../shared/model/cluster.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { httpRequest } from '../../builders/http-request.ts'
import { portsWith } from '../../builders/ports.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, mount, NOW, rootToken, sealingTerm, token } from '../tokens/support.ts'

const GENERATED = 'hvs.generated-on-this-cluster'
const PROMOTE = 'sys/replication/dr/secondary/promote'

const told = ({ operator, caller }: Call) =>
  answer(dataAnswer({ operator: operator ?? null, caller: caller?.token.displayName ?? null }))

const row = {
  method: 'POST',
  summary: 'x',
  access: allowOperationToken,
  answers: 'data',
  handle: told,
} as const
const group: EndpointGroup = {
  name: 'things',
  endpoints: [
    declareEndpoint({ ...row, path: `/${PROMOTE}`, fields: { force: boolField('') }, serves: 'secondary' }),
    declareEndpoint({ ...row, path: '/sys/of-any-role', serves: 'dr' }),
  ],
}

const batch = (parts: Partial<Token> = {}): string =>
  `hvb.${Buffer.from(JSON.stringify(token({ type: 'batch', hash: '', policies: ['ops'], ...parts }))).toString('base64url')}`

const OPS = `path "${PROMOTE}" { capabilities = ["update"] }`
/** The text of a denial. Refusals with other reasons have their own texts. */
const DENIED = { status: 403, text: 'permission denied' }
const NO_TOKEN = { status: 403, text: errorCodes.invalid_token.always }

interface World {
  mode?: ClusterMode
  body?: unknown
  /** text of the token in the request header */
  bearer?: string
  rules?: string
  path?: string
}

/** Sends one request to a cluster with a generated operation token, the token `hvs.t` and a root token. */
async function send({ mode = 'secondary', body = {}, bearer, rules = OPS, path = PROMOTE }: World) {
  const stored = [
    { text: 'hvs.t', data: token({ hash: tokenHashOf('hvs.t') }) },
    { text: 'hvs.root', data: { ...rootToken, hash: tokenHashOf('hvs.root') } },
  ].map(({ text, data }): Item => ({ ...key('token', accessorOfHash(tokenHashOf(text))), rev: 'r', data }))
  const { store } = memoryStore([
    clusterItem({ mode }),
    { ...key('mounts'), rev: 'r', data: { mounts: [mount()], removing: [] } },
    { ...key('policy', 'ops'), rev: 'r', data: { text: rules } },
    item(key('operation-token'), { hash: tokenHashOf(GENERATED), set: '', epoch: '', madeAt: NOW }, 'r'),
    sealingTerm,
    ...stored,
  ])
  const audited: Record<string, unknown>[] = []
  const ports = portsWith({
    store,
    cipher: {
      ...clearCipher,
      keysToRead: () => [],
      expectKeyring: () => undefined,
      decryptToken: async (text: string) =>
        ['', 'garbage'].includes(text) ? undefined : clearCipher.decryptToken(text),
    },
    clock: { now: () => NOW, sleep: async () => {} },
    entropy: { uuid: () => 'r-1', bytes: (length: number) => Buffer.alloc(length, 3) },
    memory: {},
    audit: { write: async (entry: Record<string, unknown>) => void audited.push(entry) },
  })
  const request = httpRequest({
    path: `/v1/${path}`,
    headers: bearer === undefined ? {} : { 'x-vault-token': bearer },
    body: JSON.stringify(body),
  })
  const { response, error } = await createDispatcher(group, ports)(request)
  const answered = JSON.parse(response.body)
  return {
    status: response.status,
    text: answered.errors?.[0] as string | undefined,
    data: answered.data,
    why: error?.reason?.['why'],
    audited,
  }
}

describe('DR operation tokens on a DR secondary', () => {
  test.each([undefined, 'hvs.root', 'hvs.unknown', 'hvb.garbage'])(
    'a generated operation token admits the request without a caller, with %s in the header',
    async bearer => {
      const { status, data, audited } = await send({
        bearer,
        body: { dr_operation_token: GENERATED },
      } as World)
      expect([status, data]).toEqual([200, { operator: 'generated', caller: null }])
      expect(JSON.stringify(audited)).not.toContain(GENERATED)
      expect(audited[0]).toMatchObject({
        operation_token: 'generated',
        request: { data: { dr_operation_token: await clearCipher.hmac(GENERATED) } },
      })
    },
  )

  test.each([{}, { dr_operation_token: '' }, { dr_operation_token: null }, { token: GENERATED }])(
    'a request without an operation token (%j) gets an error that names the field and the sources of tokens',
    async body => {
      const { status, text } = await send({ bearer: 'hvs.root', body })
      expect(status).toBe(400)
      expect(text).toMatch(
        /^dr_operation_token is required; .*generate-operation-token\/attempt.*batch token/,
      )
    },
  )

  test.each([[['a']], [{ a: 1 }], [7]])(
    'an operation token %j is rejected because it is not a string',
    async dr_operation_token => {
      const { status, text } = await send({ body: { dr_operation_token } })
      expect([status, text]).toEqual([
        400,
        'dr_operation_token is not a string; give the token as a JSON string',
      ])
    },
  )

  test.each(['hvs.unknown', 'hvs.t', 'hvs.root', `${GENERATED} `, GENERATED.slice(0, -1), 'x'.repeat(9000)])(
    'a DR operation token is rejected: $0',
    async dr_operation_token => {
      expect(await send({ body: { dr_operation_token } })).toMatchObject(NO_TOKEN)
    },
  )

  test.each(['hvb.garbage', 'hvb.'])(
    'a batch token that no key decrypts is rejected with cause and remedy: %s',
    async dr_operation_token => {
      const { status, text, why } = await send({ body: { dr_operation_token } })
      expect([status, why]).toEqual([403, 'operation-token-term-unknown'])
      expect(text).toMatch(
        /^permission denied: no key of this cluster decrypts this batch token.*generate-operation-token/,
      )
    },
  )

  test('the DR operation token is checked before the other parameters', async () => {
    expect(await send({ body: { dr_operation_token: 'hvs.unknown', force: ['?'] } })).toMatchObject(NO_TOKEN)
    const { status, text } = await send({ body: { dr_operation_token: GENERATED, force: ['?'] } })
    expect([status, text]).toEqual([400, 'Field validation failed: force must be a boolean'])
  })

  test('the generated operation token is not accepted in the header', async () => {
    const { status, why } = await send({ mode: 'primary', bearer: GENERATED })
    expect([status, why]).toEqual([403, 'token-unknown'])
  })
})

describe('a batch token on a DR secondary', () => {
  test('a batch token admits its holder by the policies stored on the secondary', async () => {
    const { status, data, audited } = await send({ body: { dr_operation_token: batch() } })
    expect([status, data]).toEqual([200, { operator: 'batch', caller: 'cloud-dev' }])
    expect(audited[0]).toMatchObject({ operation_token: 'batch', auth: { token_type: 'batch' } })
  })

  test.each<[what: string, parts: Partial<Token>, rules: string | undefined, why: string]>([
    ['it has expired', { ttl: 10, createdAt: NOW - 11_000 }, undefined, 'token-expired'],
    ['it has a parent', { parent: 'x' }, undefined, 'operation-token-not-orphan'],
    ['it has the policy root', { policies: ['root'] }, undefined, 'batch-token-root'],
    ['it is bound to another network', { boundCidrs: ['198.51.100.0/24'] }, undefined, 'source-address'],
    ['its mount was deleted', { mount: 'gone' }, undefined, 'mount-gone'],
    ['its policy does not exist', { policies: ['other'] }, undefined, 'policy'],
    ['its policy allows another path', {}, `path "${PROMOTE}x" { capabilities = ["update"] }`, 'policy'],
    [
      'its policy lacks the capability update',
      {},
      `path "${PROMOTE}" { capabilities = ["create", "sudo"] }`,
      'policy',
    ],
    ['its policy denies the path', {}, `path "${PROMOTE}" { policy = "deny" }`, 'policy'],
  ])('a batch token is rejected with 403 if %s', async (_, parts, rules = OPS, why) => {
    const reply = await send({ body: { dr_operation_token: batch(parts) }, rules })
    const gone = ['token-expired', 'mount-gone', 'batch-token-root'].includes(why)
    expect(reply).toMatchObject({ ...(gone ? NO_TOKEN : DENIED), why })
  })

  test('parameter constraints apply to batch tokens', async () => {
    const rules = `path "${PROMOTE}" { capabilities = ["update"] denied_parameters = { force = [] } }`
    const dr_operation_token = batch()
    expect((await send({ body: { dr_operation_token }, rules })).status).toBe(200)
    expect(await send({ body: { dr_operation_token, force: true }, rules })).toMatchObject(DENIED)
  })
})

describe.each(['primary', 'disabled'] as const)(
  'DR operation endpoints on a cluster with the mode %s',
  mode => {
    test.each([undefined, 'hvs.t', 'hvs.root'])(
      'a request with %s in the header is rejected because the cluster is not a DR secondary',
      async bearer => {
        for (const body of [
          {},
          { dr_operation_token: GENERATED },
          { dr_operation_token: 'x', force: ['?'] },
        ]) {
          const { status, text } = await send({ mode, body, bearer } as World)
          expect([status, text]).toEqual([
            400,
            expect.stringContaining(`not a DR secondary: the mode of this cluster is ${mode}`),
          ])
        }
      },
    )

    test('an invalid token in the header is rejected before the cluster mode', async () => {
      for (const bearer of ['hvs.unknown', 'hvb.garbage'])
        expect(await send({ mode, bearer, body: { dr_operation_token: GENERATED } })).toMatchObject(NO_TOKEN)
    })

    test('an endpoint for any cluster role gets neither an operation token nor a caller', async () => {
      const world = { mode, path: 'sys/of-any-role', body: { dr_operation_token: GENERATED } }
      expect((await send(world)).data).toEqual({ operator: null, caller: null })
      expect(await send({ ...world, bearer: 'hvs.unknown' })).toMatchObject(NO_TOKEN)
    })
  },
)

test('while the cluster role changes, every request to a DR operation endpoint gets 503', async () => {
  expect((await send({ mode: 'bootstrapping' })).status).toBe(503)
})
