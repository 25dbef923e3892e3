import type { Context } from 'aws-lambda'
import { describe, expect, test } from 'vitest'
import { createCallMeter } from '../../../shared/adapters/aws/system.ts'
import { answer, type Call, type CallOutcome, dataAnswer } from '../../../shared/api/call.ts'
import { allowAnyone, declareEndpoint } from '../../../shared/api/endpoint.ts'
import { ApiError } from '../../../shared/api/errors.ts'
import { textField } from '../../../shared/api/fields.ts'
import type { FrontEvent } from '../../../shared/http/events.ts'
import { createGroupHandler } from '../../../shared/http/lambda.ts'
import type { FrontProxy, Log } from '../../../shared/ports.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { sha256 } from '../../../shared/values/secret.ts'
import { clusterItem } from '../../builders/cluster-record.ts'
import { portsWith } from '../../builders/ports.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, mount, NOW } from '../tokens/support.ts'

type Handle = (call: Call) => CallOutcome | Promise<CallOutcome>

let ids = 0

/** Builds a Lambda with one anonymous endpoint. */
function handlerOf(
  handle: Handle,
  log: (level: string) => Log['info'],
  meter = createCallMeter(),
  proxy?: FrontProxy,
) {
  const { store } = memoryStore([
    clusterItem(),
    { ...key('mounts'), rev: 'r', data: { mounts: [mount()], removing: [] } },
  ])
  const ports = portsWith({
    store,
    cipher: { ...clearCipher, keysToRead: () => [], expectKeyring: () => undefined },
    clock: { now: () => NOW },
    entropy: { uuid: () => `r-${++ids}` },
    memory: {},
    deployment: { proxy },
    audit: { write: async () => undefined },
    meter,
    log: { info: log('info'), warn: log('warn'), error: log('error') },
  })
  const row = declareEndpoint({
    method: 'POST',
    path: '/auth/:mount/thing',
    summary: 'x',
    fields: { proof: textField('', { secret: true }) },
    access: allowAnyone,
    answers: 'data',
    handle,
  })
  return createGroupHandler({ name: 'things', endpoints: [row] }, ports)
}

const eventOf = (parts: Partial<FrontEvent> = {}): FrontEvent => ({
  version: '2.0',
  rawPath: '/v1/auth/cloud/thing',
  headers: { 'x-vault-token': 'hvs.S3CRET' },
  body: '{"proof":"S3CRET"}',
  requestContext: { requestId: 'g-1', http: { method: 'POST', sourceIp: '192.0.2.1' } },
  ...parts,
})

const contextWith = (left: number) => ({ getRemainingTimeInMillis: () => left }) as Context

/** Invokes the Lambda, and returns its response and log lines. */
async function invoke(handle: Handle, event: Partial<FrontEvent> = {}, left = 15_000) {
  const lines: { level: string; message: string; fields: Readonly<Record<string, unknown>> }[] = []
  const handler = handlerOf(handle, level => (message, fields) => void lines.push({ level, message, fields }))
  return { reply: await handler(eventOf(event), contextWith(left)), lines }
}

const ok = () => answer(dataAnswer({ x: 1 }))

describe('the Lambda handler of a group', () => {
  test('a request gets a response and one log line', async () => {
    const { reply, lines } = await invoke(ok)
    expect([reply.statusCode, JSON.parse(reply.body).data]).toEqual([200, { x: 1 }])
    expect(lines).toEqual([
      {
        level: 'info',
        message: 'request',
        fields: {
          id: reply.headers['x-request-id'],
          gateway_id: 'g-1',
          operation: 'POST /auth/:mount/thing',
          status: 200,
          milliseconds: 0,
          calls: {},
        },
      },
    ])
  })

  test('no log line contains a parameter value', async () => {
    for (const handle of [
      ok,
      () => {
        throw new ApiError('permission_denied', 'x', { reason: { why: 'nonce', given: 'y' } })
      },
    ]) {
      const { lines } = await invoke(handle)
      expect(JSON.stringify(lines)).not.toMatch(/S3CRET|cloud\/thing/)
    }
  })

  test('a refusal is logged with the name of its reason, an internal error with its cause', async () => {
    const refused = await invoke(() => {
      throw new ApiError('permission_denied', '', { reason: { why: 'nonce' } })
    })
    expect(refused.lines).toMatchObject([
      { level: 'info', fields: { status: 403, code: 'permission_denied', why: 'nonce' } },
    ])
    const failed = await invoke(() => {
      throw new Error('outer', { cause: new Error('inner') })
    })
    expect(failed.reply.statusCode).toBe(500)
    expect(failed.reply.body).toBe('{"errors":["internal error"]}')
    expect(failed.lines).toMatchObject([{ level: 'error', fields: { status: 500, code: 'internal' } }])
    expect(failed.lines[0]?.fields['cause']).toEqual(expect.arrayContaining(['outer', 'inner']))
  })

  test('a response that is too large for the front end is replaced by an error', async () => {
    const long = () => answer(dataAnswer({ x: '"'.repeat(600_000) }))
    const alb = { path: '/v1/auth/cloud/thing', httpMethod: 'POST', requestContext: { elb: {} } }
    const called = { 'x-forwarded-for': '192.0.2.1' }
    const { version: _, ...event } = { ...eventOf(), ...alb, headers: { ...eventOf().headers, ...called } }
    const lines: unknown[] = []
    const handler = handlerOf(long, () => (_message, fields) => void lines.push(fields))
    const reply = await handler(event, contextWith(15_000))
    expect([reply.statusCode, reply.body]).toEqual([
      400,
      '{"errors":["the response is too large: use the parameters `after` and `limit`"]}',
    ])
    expect(reply.headers['x-request-id']).toMatch(/^r-/)
    expect(lines).toMatchObject([{ status: 400, code: 'invalid_request' }])
    expect((await invoke(long)).reply.statusCode).toBe(200)
  })

  test('the log line of a request without endpoint names no endpoint', async () => {
    expect((await invoke(ok, { rawPath: '/v1/nothing' })).lines).toMatchObject([
      { fields: { operation: 'no endpoint', status: 403 } },
    ])
    expect((await invoke(ok, { rawPath: '/v1//' })).lines).toMatchObject([{ fields: { status: 400 } }])
  })

  test.each([
    [15_000, 10_000],
    [9000, 5000],
    [4001, 1],
    [100, 1],
  ])('with %i ms left, AWS calls may take %i ms', async (left, time) => {
    let deadline = 0
    await invoke(
      call => {
        deadline = call.request.deadline
        return ok()
      },
      {},
      left,
    )
    expect(deadline - NOW).toBe(time)
  })
})

describe('concurrent requests in one environment', () => {
  test('concurrent requests have separate IDs, times and counts', async () => {
    const meter = createCallMeter()
    const lines: Readonly<Record<string, unknown>>[] = []
    const handler = handlerOf(
      async call => {
        for (let calls = 0; calls < Number(call.parameters['proof']); calls++) {
          meter.count('dynamodb')
          await new Promise(resolve => setTimeout(resolve, 1))
        }
        return ok()
      },
      () => (_, fields) => void lines.push(fields),
      meter,
    )
    const answers = await Promise.all(
      [30, 10, 20].map(count => handler(eventOf({ body: `{"proof":"${count}"}` }), contextWith(15_000))),
    )
    const ids = answers.map(reply => reply.headers['x-request-id'])
    expect(new Set(ids).size).toBe(3)
    const counted = ids.map(id => lines.find(line => line['id'] === id)?.['calls'])
    expect(counted).toEqual([{ dynamodb: 30 }, { dynamodb: 10 }, { dynamodb: 20 }])
  })
})

describe('a deployment behind a proxy', () => {
  const proxy = { secretHashes: [sha256('S3CRET of the proxy').toString('hex')], hops: 1 }
  const chain = '10.0.0.1, 203.0.113.9, 192.0.2.1'
  const through = { 'x-origin-secret': 'S3CRET of the proxy', 'x-forwarded-for': chain }
  const sources: string[] = []
  const lines: unknown[] = []
  const handler = handlerOf(
    call => {
      sources.push(call.request.source)
      return ok()
    },
    () => (_message, fields) => void lines.push(fields),
    createCallMeter(),
    proxy,
  )
  const ask = (headers: Record<string, string>) => handler(eventOf({ headers }), contextWith(15_000))

  test('handlers get the client address behind the proxy', async () => {
    expect((await ask(through)).statusCode).toBe(200)
    expect(sources.splice(0)).toEqual(['203.0.113.9'])
  })

  test('a request that bypasses the proxy is rejected before anything is read (CVE-2024-6468)', async () => {
    for (const headers of [{}, { 'x-forwarded-for': chain }, { ...through, 'x-origin-secret': 'no' }]) {
      const reply = await ask(headers)
      expect([reply.statusCode, reply.headers['x-error-code']]).toEqual([403, 'misdirected'])
      expect(reply.body).toMatch(/send requests to the address of the proxy/)
      expect(lines.at(-1)).toMatchObject({ operation: 'refused early', status: 403, calls: {} })
      expect(sources).toEqual([])
    }
    expect((await ask(through)).statusCode).toBe(200)
    expect(sources.splice(0)).toHaveLength(1)
    expect(JSON.stringify(lines)).not.toContain('S3CRET')
  })

  test('an X-Forwarded-For without the client address is rejected with an error that names the setting', async () => {
    const reply = await ask({ ...through, 'x-forwarded-for': 'unknown, 192.0.2.1' })
    expect([reply.statusCode, reply.body]).toEqual([400, expect.stringContaining('proxy.hops')])
  })
})

describe('the request ID in responses and logs', () => {
  test.each<[name: string, event: Partial<FrontEvent>, status: number]>([
    ['a successful response has the request ID of its log line', {}, 200],
    ['a refusal before the first read has the request ID of its log line', { rawPath: '/v1//' }, 400],
    ['a refusal of an unknown path has the request ID of its log line', { rawPath: '/v1/nothing' }, 403],
  ])('%s', async (_, given, status) => {
    const { reply, lines } = await invoke(ok, given)
    expect(reply.statusCode).toBe(status)
    expect(reply.headers['x-request-id']).toMatch(/^r-\d+$/)
    expect(lines).toMatchObject([{ fields: { id: reply.headers['x-request-id'], gateway_id: 'g-1' } }])
    if (status === 200) expect(JSON.parse(reply.body).request_id).toBe(reply.headers['x-request-id'])
  })
})
