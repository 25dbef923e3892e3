import '../../../support/service/over-web-function.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { launch, pkcs7Of } from '../../../support/requests/logins.ts'
import { workerOn } from '../../../support/requests/workers.ts'
import { sized } from '../../../support/runner/size.ts'
import { call, type Reply } from '../../../support/service/api.ts'
import { type AuditEntry, auditEntries } from '../../../support/service/audit.ts'
import {
  api,
  cluster,
  done,
  fresh,
  freshMount,
  localCertificate,
  storage,
} from '../../../support/service/cluster.ts'
import { withoutWaiting } from '../../../support/service/no-waiting.ts'

// Runs the login tests against a Web Function behind a simulated CloudFront distribution.

const ALL = readdirSync(new URL('../../login', import.meta.url)).flatMap(
  file => /^(.*)\.test\.ts$/.exec(file)?.[1] ?? [],
)

describe('login tests', async () => {
  for (const name of sized(['ec2', 'hostile', 'iam'], ALL)) {
    expect(ALL).toContain(name)
    await import(`../../login/${name}.test.ts`)
  }
})

const web = (): string => `${cluster.web_url}/v1`

describe('requests to a Web Function', () => {
  test("without the distribution's secret get 403 before any read", async () => {
    const { path } = await freshMount()
    const signed = (await workerOn(path)).signed()
    await storage.reset()
    const headers = { 'x-forwarded-for': '127.0.0.1, 192.0.2.44' }
    const reply = await call(web(), 'POST', `${path}/login`, signed, { headers })
    expect([reply.status, reply.headers['x-error-code']]).toEqual([403, 'misdirected'])
    expect(await storage.calls()).toEqual([])
    expect((await api('POST', `${path}/login`, signed, { token: '' })).status).toBe(200)
  })

  test('with the verb LIST get 400, because CloudFront does not forward that verb', async () => {
    expect((await api('LIST', '/auth/cloud/login')).status).toBe(400)
  })
})

interface Sent {
  title: 'iam' | 'ec2' | 'elsewhere' | 'unsigned'
  send: () => Promise<Reply>
  /** the client's IP address */
  from: string
  role: string
  policy: string
  status: number
}

describe('64 concurrent logins at a Web Function', () => {
  let mount = ''
  let sent: Sent[] = []
  let replies: Reply[] = []
  let before = 0

  withoutWaiting()

  beforeAll(async () => {
    mount = (await freshMount()).path
    await done('POST', `${mount}/config/certificate/local`, { aws_public_cert: await localCertificate() })
    await (await workerOn(mount)).login()
    sent = (await Promise.all(Array.from({ length: 16 }, (_, index) => four(index)))).flat()
    before = auditEntries().length
    await storage.reset()
    replies = await Promise.all(sent.map(one => one.send()))
  })

  const loginFrom = (from: string, fields: object) =>
    api('POST', `${mount}/login`, fields, { token: '', from, headers: { 'x-forwarded-for': '10.9.9.9' } })

  /** Prepares one login of each kind. Each login has its own source address, which its role allows or not. */
  async function four(index: number): Promise<Sent[]> {
    const at = (kind: number) => `127.${kind}.0.${index + 1}`
    const policy = fresh('p')
    const workerWith = (given: object) => workerOn(mount, { token_policies: policy, ...given })
    const [iam, elsewhere, unsigned] = await Promise.all([
      workerWith({ token_bound_cidrs: `${at(1)}/32` }),
      workerWith({ token_bound_cidrs: '10.9.9.9/32' }),
      workerWith({}),
    ])
    const instance = await launch()
    const fleet = fresh('fleet')
    await done('POST', `${mount}/role/${fleet}`, {
      auth_type: 'ec2',
      token_policies: policy,
      bound_ec2_instance_id: instance.instanceId,
      token_bound_cidrs: `${at(2)}/32`,
    })
    const ways: [Sent['title'], role: string, status: number, fields: object][] = [
      ['iam', iam.role, 200, iam.signed()],
      ['ec2', fleet, 200, { role: fleet, pkcs7: await pkcs7Of(instance), nonce: fresh('n') }],
      // the client's own X-Forwarded-For header is ignored
      ['elsewhere', elsewhere.role, 403, elsewhere.signed()],
      ['unsigned', unsigned.role, 400, { ...unsigned.signed(), iam_request_body: '' }],
    ]
    return ways.map(([title, role, status, fields], kind) => {
      const from = at(kind + 1)
      return { title, from, role, policy, status, send: () => loginFrom(from, fields) }
    })
  }

  const idOf = (reply: Reply | undefined): string => reply?.headers['x-request-id'] ?? ''

  test('each get their own answer with the policies of their own role', () => {
    expect(sent).toHaveLength(64)
    expect(new Set(replies.map(idOf)).size).toBe(64)
    for (const [index, { title, status, policy }] of sent.entries()) {
      const reply = replies[index]
      expect(reply?.status, `${title}: ${reply?.text}`).toBe(status)
      if (status === 200) expect(reply?.body.auth.policies).toEqual(['default', policy])
    }
  })

  test('each have two audit entries with their own request ID, role and address', () => {
    const own = Map.groupBy(auditEntries().slice(before), ({ request }: AuditEntry) => String(request?.id))
    expect(own.size).toBe(64)
    for (const [index, { title, from, role }] of sent.entries()) {
      const entries = own.get(idOf(replies[index])) ?? []
      expect(entries.map(entry => entry.audit).toSorted(), title).toEqual(['request', 'response'])
      for (const { request } of entries) {
        expect(request.remote_address, title).toBe(from)
        expect(JSON.stringify(request), title).toContain(role)
      }
    }
    const numbers = [...own.values()].map(([entry]) => entry?.request.gateway_id)
    expect(new Set(numbers).size).toBe(64)
  })

  test('each have a log line with the counts of their own calls to AWS', () => {
    const lines = new Map(
      readFileSync(`${cluster.directory}/functions.log`, 'utf8')
        .split('\n')
        .filter(line => line.includes('"operation"'))
        .map(line => JSON.parse(line))
        .map(line => [line.id, line]),
    )
    const providers = { iam: { sts: 1 }, ec2: { ec2: 1 }, elsewhere: { sts: 1 }, unsigned: {} }
    for (const [index, { title, status }] of sent.entries()) {
      const { calls, status: told } = lines.get(idOf(replies[index])) ?? {}
      const { dynamodb, ...others } = calls ?? {}
      expect([told, others], `${title}: ${replies[index]?.text}`).toEqual([status, providers[title]])
      expect(dynamodb).toBeGreaterThan(0)
    }
  })

  test('combine their 128 reads into fewer than 100 calls', async () => {
    const reads = (await storage.calls()).filter(({ operation }) => operation === 'BatchGetItem')
    expect(reads.length).toBeGreaterThan(0)
    expect(reads.length).toBeLessThan(100)
  })
})
