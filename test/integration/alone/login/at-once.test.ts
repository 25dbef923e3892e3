import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { MAX_ATTEMPTS } from '../../../../shared/adapters/aws/wire/limits.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import type { Reply } from '../../../support/service/api.ts'
import { auditText } from '../../../support/service/audit.ts'
import { api, cluster, done, fresh, freshMount, storage } from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

// One environment of a function may serve many requests at once. Data of one request must not reach
// another.

withoutWaiting()

const EACH = 16

let mount = ''
beforeAll(async () => {
  mount = (await freshMount()).path
  // warms the environment, so that no request pays for first reads
  await (await workerOn(mount)).login()
  await done('POST', '/auth/token/create')
})

interface Sent {
  title: string
  send: () => Promise<Reply>
  operation: string
  status: number
  /** text that appears only in the answer and the log entries of this request */
  own: string
  mine: (reply: Reply) => unknown
  calls: Record<string, unknown>
}

async function mixed(): Promise<Sent[]> {
  const all: Sent[] = []
  for (let index = 0; index < EACH; index++) {
    const policy = fresh('p')
    const worker = await workerOn(mount, { token_policies: policy })
    const signed = worker.signed()
    const display = fresh('name')
    const missing = fresh('missing')
    all.push(
      {
        title: 'login',
        send: () => api('POST', `${mount}/login`, signed, { token: '' }),
        operation: 'POST /auth/:mount/login',
        status: 200,
        own: worker.role,
        mine: ({ body }) => (body.auth.policies.includes(policy) ? worker.role : 'another'),
        calls: { sts: 1, dynamodb: expect.any(Number) },
      },
      {
        title: 'read',
        send: () => api('GET', `${mount}/role/${worker.role}`),
        operation: 'GET /auth/:mount/role/:role',
        status: 200,
        own: worker.role,
        mine: ({ body }) => (body.data.bound_iam_principal_arn[0] === worker.arn ? worker.role : 'another'),
        calls: { dynamodb: 2 },
      },
      {
        title: 'create',
        send: () => api('POST', '/auth/token/create', { display_name: display, meta: { display } }),
        operation: 'POST /auth/token/create',
        status: 200,
        own: display,
        mine: ({ body }) => body.auth.metadata.display,
        calls: { dynamodb: expect.any(Number) },
      },
      {
        title: 'refusal',
        send: () => api('GET', `${mount}/role/${missing}`, undefined, { token: fresh('hvs.') }),
        operation: 'GET /auth/:mount/role/:role',
        status: 403,
        own: missing,
        mine: () => missing,
        calls: { dynamodb: 1 },
      },
    )
  }
  return all
}

interface Lineage {
  id: string
  operation: string
  status: number
  calls: Record<string, number>
}

const logged = (): Map<string, Lineage> =>
  new Map(
    readFileSync(`${cluster.directory}/functions.log`, 'utf8')
      .split('\n')
      .filter(line => line.includes('"operation"'))
      .map(line => JSON.parse(line) as Lineage)
      .map(lineage => [lineage.id, lineage]),
  )

interface Entry {
  audit: string
  request: { id: string; path: string; data: Record<string, unknown> }
}

const audited = (id: string): Entry[] =>
  auditText()
    .split('\n')
    .filter(line => line.includes(id))
    .map(line => JSON.parse(line) as Entry)

test('64 concurrent requests of four kinds each get their own answer, log line, call counts and audit entries', async () => {
  const sent = await mixed()
  expect(sent).toHaveLength(64)
  await storage.reset()
  const replies = await Promise.all(sent.map(one => one.send()))
  const reads = (await storage.calls()).filter(({ operation }) => operation === 'BatchGetItem')
  const lines = logged()
  const ids = replies.map(reply => reply.headers['x-request-id'] ?? '')
  expect(new Set(ids).size).toBe(64)
  // without batching there would be two reads for each accepted request
  expect(reads.length).toBeLessThan(40)
  for (const [index, one] of sent.entries()) {
    const [reply, id] = [replies[index] as Reply, ids[index] ?? '']
    expect(reply.status, `${one.title}: ${reply.text}`).toBe(one.status)
    expect(one.mine(reply), one.title).toBe(one.own)
    const { operation, status, calls } = lines.get(id) ?? {}
    expect({ operation, status, calls }, one.title).toEqual({
      operation: one.operation,
      status: one.status,
      calls: one.calls,
    })
    const entries = audited(id)
    expect(entries.map(entry => entry.audit).sort(), one.title).toEqual(['request', 'response'])
    for (const { request } of entries) expect(request.id).toBe(id)
    if (one.title !== 'login' && one.title !== 'create')
      for (const { request } of entries) expect(request.path).toContain(one.own)
  }
})

test('a failed shared read is repeated separately for each waiting request', async () => {
  const workers = await Promise.all(Array.from({ length: 8 }, () => workerOn(mount)))
  const [first, second, ...rest] = workers.map(
    ({ role }) =>
      () =>
        api('GET', `${mount}/role/${role}`),
  )
  await storage.reset()
  const read = { operation: 'BatchGetItem', skip: 0 }
  await storage.fault({ ...read, kind: 'hold', times: 2 })
  // fails all retries of the SDK
  await storage.fault({ ...read, kind: 'error', when: 'before', whole: true })
  const held: (Promise<Reply> | undefined)[] = []
  for (const send of [first, second]) {
    held.push(send?.())
    await storage.held(held.length)
  }
  const replies = await Promise.all(rest.map(send => send()))
  const struck = (await storage.calls()).filter(call => call.struck)
  await storage.mend()
  const lines = logged()
  for (const { status, headers } of replies) {
    expect(status).toBe(200)
    // the failed shared read, the request's own repetition of the read, and the read of the role
    expect(lines.get(headers['x-request-id'] ?? '')?.calls).toEqual({ dynamodb: 3 })
  }
  expect(struck).toHaveLength(held.length + MAX_ATTEMPTS)
  for (const reply of await Promise.all(held)) expect(reply?.status).toBe(200)
})
