import { rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRemoteControl } from '../../infra/local/provider/control.ts'
import {
  cleanUp,
  clusterFile,
  endOf,
  enginePid,
  folderOf,
  freshCluster,
  hasEnded,
  isEngineOf,
  killEngine,
  type Run,
  start,
} from '../support/programs/npm-start.ts'
import { call, type Reply } from '../support/service/api.ts'

// Simulates power cuts while a fleet logs in: kills host and engine repeatedly. Acknowledged logins must
// survive, a login is stored completely or not at all, and interrupted clients can repeat their logins with
// their nonces.

const INSTANCES = 16
const cluster = freshCluster('e2e-crash')
afterAll(cleanUp)

interface Workload {
  instanceId: string
  body: string
}

const fleet: Workload[] = []
/** tokens that clients have received, by instance */
const given = new Map<string, string[]>()
let run: Run

const root = (method: string, path: string, body?: unknown): Promise<Reply> => {
  const { base_url, root_token } = clusterFile(cluster)
  return call(base_url, method, path, body, { token: root_token })
}

const login = ({ body }: Workload): Promise<Reply> =>
  call(clusterFile(cluster).base_url, 'POST', '/auth/cloud/login', body)

async function write(path: string, body: unknown): Promise<void> {
  const reply = await root('POST', path, body)
  expect(reply.status, reply.text).toBeLessThan(300)
}

beforeAll(async () => {
  run = start('--cluster', cluster, '--port', '0')
  await run.until('Serving.')
  const { provider_url, control_token } = clusterFile(cluster)
  const aws = createRemoteControl(provider_url, control_token)
  const { rsa2048 } = await aws.authority()
  await write('/auth/cloud/config/certificate/local', {
    cloud_public_cert: Buffer.from(rsa2048).toString('base64'),
  })
  await write('/auth/cloud/config/identity', { ec2_metadata: ['instance_id'] })
  await write('/auth/cloud/role/fleet', { auth_type: 'ec2', bound_region: 'us-east-1' })
  for (let index = 0; index < INSTANCES; index++) {
    const instance = await aws.putInstance({ account: '111122223333', region: 'us-east-1' })
    const pkcs7 = (await aws.documents(instance)).rsa2048.replaceAll('\n', '')
    const body = JSON.stringify({ role: 'fleet', pkcs7, nonce: `nonce-of-instance-${index}` })
    fleet.push({ instanceId: instance.instanceId, body })
  }
})

/** Signals clients to stop, and keeps each client's last answer. */
interface Cut {
  made: boolean
  last: Map<string, string>
}

/** Logs in repeatedly until the cut. Retries failed logins, as clients do. */
async function logInUntil(cut: Cut, workload: Workload): Promise<void> {
  while (!cut.made) {
    const reply = await login(workload).catch((error: Error) => ({ ...unanswered, text: String(error) }))
    cut.last.set(workload.instanceId, `${reply.status} ${reply.text}`)
    if (reply.status === 0 || reply.status >= 500) {
      await new Promise(resolve => setTimeout(resolve, 5))
      continue
    }
    expect(reply.status, reply.text).toBe(200)
    remember(workload, reply)
  }
}

const unanswered: Reply = { status: 0, headers: {}, text: '', body: undefined }

const LOGINS_TIMEOUT_MS = 100_000

/** Waits for further logins. @throws when the host ends or no login succeeds */
async function acknowledged(more: number, cut: Cut): Promise<void> {
  const wanted = count() + more
  const end = Date.now() + LOGINS_TIMEOUT_MS
  while (count() < wanted && !cut.made) {
    if (hasEnded(run.child) || Date.now() > end)
      throw new Error(
        [
          `logins: ${count()} of ${wanted}; the host ${hasEnded(run.child) ? endOf(run.child) : 'runs'}`,
          ...[...cut.last].map(one => one.join(' ')),
          run.output(),
        ].join('\n'),
      )
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

const remember = ({ instanceId }: Workload, reply: Reply): void => {
  given.set(instanceId, [...(given.get(instanceId) ?? []), reply.body.auth.client_token])
}

const killHost = (): void => expect(run.child.kill('SIGKILL'), 'the host was there').toBe(true)
const killItsEngine = (): void => expect(killEngine(cluster), 'the engine was there').toBe(true)

/** Leaves a truncated engine note, as a crash during a start does. */
const half = (): void => writeFileSync(`${folderOf(cluster)}/engine.json`, '{"pid":')

const cuts = [
  { name: 'host first, then the engine', victims: [killHost, killItsEngine] },
  { name: 'engine first, then the host', victims: [killItsEngine, killHost] },
  { name: 'the host only, so that the engine keeps running', victims: [killHost] },
  { name: 'the host only, with a truncated engine note', victims: [killHost, half] },
]

// one retry, because a real fault fails twice
describe('a killed cluster: CVE-2022-30689', { retry: 1 }, () => {
  test.each(cuts)('keeps everything that the cluster has acknowledged: $name', async ({ victims }) => {
    const staying = enginePid(cluster)
    const newcomers = fleet.filter(({ instanceId }) => !given.has(instanceId)).slice(0, 4)
    const old = fleet.filter(({ instanceId }) => given.has(instanceId)).slice(-6)
    const cut: Cut = { made: false, last: new Map() }
    const clients = Promise.all([...newcomers, ...old].map(workload => logInUntil(cut, workload)))
    try {
      await Promise.race([acknowledged(6, cut), clients])
      for (const kill of victims) kill()
    } finally {
      cut.made = true
    }
    await clients
    await run.ended

    run = start('--cluster', cluster, '--port', '0')
    await run.until('Serving.')
    expect(enginePid(cluster), 'an engine of its own').not.toBe(staying)
    expect(isEngineOf(cluster, staying), 'the engine that stayed behind is gone').toBe(false)

    await acknowledgedTokensLive()
    await entriesStandWithTheirTokens()
    await strangersStayOut()
    for (const workload of [...newcomers, ...old]) {
      const again = await login(workload)
      expect(again.status, again.text).toBe(200)
      remember(workload, again)
    }
  })
})

const count = (): number => [...given.values()].flat().length

async function acknowledgedTokensLive(): Promise<void> {
  const told = [...given].flatMap(([instanceId, tokens]) => tokens.map(token => ({ instanceId, token })))
  await each(told, async ({ instanceId, token }) => {
    const found = await root('POST', '/auth/token/lookup', { token })
    expect(found.status, found.text).toBe(200)
    expect(found.body.data.meta.instance_id).toBe(instanceId)
  })
  await each([...given.keys()], async instanceId => {
    const entry = await root('GET', `/auth/cloud/identity-accesslist/${instanceId}`)
    expect(entry.status, `the entry of ${instanceId}`).toBe(200)
  })
}

/** The token and the access-list entry of a login have the same time. */
async function entriesStandWithTheirTokens(): Promise<void> {
  const accessors = (await root('LIST', '/auth/token/accessors')).body.data.keys as string[]
  const logins = new Set<string>()
  await each(accessors, async accessor => {
    const { body } = await root('POST', '/auth/token/lookup-accessor', { accessor })
    if (body.data.meta?.instance_id) logins.add(`${body.data.meta.instance_id} ${body.data.issue_time}`)
  })
  const listed = (await root('LIST', '/auth/cloud/identity-accesslist')).body.data.keys as string[]
  const ours = listed.filter(name => fleet.some(({ instanceId }) => instanceId === name))
  await each(ours, async name => {
    const { body } = await root('GET', `/auth/cloud/identity-accesslist/${name}`)
    expect(logins, `a token for the entry of ${name}`).toContain(`${name} ${body.data.last_updated_time}`)
  })
}

/** Checks that nonces survive a kill, because the host must not keep them in memory only. */
async function strangersStayOut(): Promise<void> {
  const known = fleet.filter(({ instanceId }) => given.has(instanceId))
  await each(known, async ({ instanceId, body }) => {
    const stranger = await login({ instanceId, body: body.replace(/nonce-of-instance-\d+/, 'of a stranger') })
    expect([stranger.status, stranger.body.errors]).toEqual([400, ['nonce does not match']])
  })
}

const AT_ONCE = 16

async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(work))
}

describe('a start in an unfinished state', () => {
  test('of a running cluster is rejected and does not harm that cluster', async () => {
    const second = start('--cluster', cluster, '--port', '0')
    expect(await second.ended).toBe(1)
    expect(second.output()).toMatch(
      /^the cluster in \S+ runs already in process \d+\. Stop that process, .*\n$/,
    )
    expect((await root('GET', '/auth/cloud/role/fleet')).status).toBe(200)
  })

  test('without the stored root token fails and says what to do', async () => {
    killHost()
    await run.ended
    for (const name of ['keys.json', 'cluster.json']) rmSync(`${folderOf(cluster)}/${name}`)
    const next = start('--cluster', cluster, '--port', '0')
    expect(await next.ended).toBe(1)
    expect(next.output()).toContain('so the token is lost')
    expect(next.output()).toContain(`Remove ${folderOf(cluster)} and start again`)
  })
})
