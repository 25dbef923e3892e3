import type { Context } from 'aws-lambda'
import { describe, expect, test } from 'vitest'
import { answer, type Call, data, type Outcome } from '../../../shared/api/call.ts'
import { anyone, endpoint } from '../../../shared/api/endpoint.ts'
import { ApiError } from '../../../shared/api/errors.ts'
import { text } from '../../../shared/api/fields.ts'
import type { FrontAnswer, FrontEvent } from '../../../shared/http/events.ts'
import { groupHandler } from '../../../shared/http/lambda.ts'
import type { Ports } from '../../../shared/ports.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { memoryStore } from '../support/memory-store.ts'
import { mount, NOW, openSealer } from '../tokens/support.ts'

/** Invokes a Lambda of one endpoint for anyone; its answer and its log line. */
async function invoke(handle: (call: Call) => Outcome, event: Partial<FrontEvent> = {}, left = 15_000) {
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = []
  const log = (level: string) => (message: string, fields: Record<string, unknown>) =>
    void lines.push({ level, message, fields })
  const { store } = memoryStore([
    {
      ...key('cluster'),
      rev: 'r',
      data: { id: 'c', name: 'c', mode: 'primary', keyring: 'k', initialisedAt: 0 },
    },
    { ...key('mounts'), rev: 'r', data: { mounts: [mount()], removing: [] } },
  ])
  const ports = {
    store,
    sealer: { ...openSealer, expect: () => undefined },
    clock: { now: () => NOW },
    entropy: { uuid: () => 'r-1' },
    audit: { write: async () => undefined },
    meter: { take: () => ({ dynamodb: 1 }) },
    log: { info: log('info'), warn: log('warn'), error: log('error') },
  } as unknown as Ports
  const row = endpoint({
    method: 'POST',
    path: '/auth/:mount/thing',
    summary: 'x',
    fields: { proof: text('', { secret: true }) },
    access: anyone,
    answers: 'data',
    handle,
  })
  const handler = groupHandler({ name: 'things', endpoints: [row] }, ports)
  const given: FrontEvent = {
    version: '2.0',
    rawPath: '/v1/auth/cloud/thing',
    headers: { 'x-vault-token': 'hvs.S3CRET' },
    body: '{"proof":"S3CRET"}',
    requestContext: { http: { method: 'POST', sourceIp: '192.0.2.1' } },
    ...event,
  }
  const context = { getRemainingTimeInMillis: () => left } as Context
  const reply = (await handler(given, context)) as unknown as FrontAnswer
  return { reply, lines }
}

const ok = () => answer(data({ x: 1 }))

describe('a Lambda of endpoints', () => {
  test('answers an event, and writes one line about it', async () => {
    const { reply, lines } = await invoke(ok)
    expect([reply.statusCode, JSON.parse(reply.body).data]).toEqual([200, { x: 1 }])
    expect(lines).toEqual([
      {
        level: 'info',
        message: 'request',
        fields: {
          operation: 'POST /auth/:mount/thing',
          status: 200,
          milliseconds: 0,
          calls: { dynamodb: 1 },
        },
      },
    ])
  })

  test('no line holds a value of the request', async () => {
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

  test('a refusal is told with its reason’s name, a fault of ours with its cause', async () => {
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

  test('what names no endpoint is told as such', async () => {
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
  ])('with %i ms left, calls to the provider have %i', async (left, time) => {
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
