import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createFailoverToken } from '../../infra/local/commands/drill/failover-token.ts'
import { CONTROL_TOKEN_VARIABLE } from '../../infra/local/host/lasting-host.ts'
import type { StoredExecution } from '../../infra/local/states/store.ts'
import { workflowDefinitions } from '../../shared/workers/workflows.ts'
import { eventually, type KilledHost, killedAt, killedHost } from '../support/programs/killed-hosts.ts'
import { cleanUp } from '../support/programs/npm-start.ts'
import { sized } from '../support/runner/size.ts'

// Kills a host during a role change and starts it again. The role change must end with one outcome.

const R = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }

/** Outside the range of ephemeral ports. */
const FIRST_PORT = 20_000 + (process.pid % 1000) * 8

let east: KilledHost
let west: KilledHost
let root: string
let shares: string[]
/** a prepared operation token */
let operator: string

beforeAll(async () => {
  const ports = (at: number) => ['--port', String(at), '--link-port', String(at + 1)]
  east = await killedHost('e2e-roles-east', ...ports(FIRST_PORT), '--provider-port', String(FIRST_PORT + 2))
  ;({ root_token: root, recovery_keys: shares } = east.file())
  vi.stubEnv(CONTROL_TOKEN_VARIABLE, east.file().control_token)
  west = await killedHost(
    'e2e-roles-west',
    ...ports(FIRST_PORT + 4),
    '--provider',
    east.file().provider_url,
    '--region',
    'us-west-2',
  )
})
afterAll(cleanUp)

async function ok(host: KilledHost, path: string, body: object, token = root) {
  const reply = await host.request('POST', path, body, token)
  expect(reply.status, `${path}: ${reply.text}`).toBeLessThan(300)
  return reply.body
}
const write = (host: KilledHost, name: string, token = root) =>
  ok(host, `/sys/policies/acl/${name}`, POLICY, token)
const health = async () =>
  Promise.all([east, west].map(async host => (await host.request('GET', '/sys/health')).status))
const statusOf = async (host: KilledHost) => (await host.request('GET', `${R}/status`)).body.data

let ids = 0
const activation = async (primary: KilledHost): Promise<string> => {
  const id = `s${++ids}`
  return (await ok(primary, `${R}/primary/secondary-token`, { id })).wrap_info.token
}

/** Returns the operations that made a cluster the primary, from the event bus. */
const promotions = (): Set<string> =>
  new Set(
    readFileSync(`${east.folder}/events.ndjson`, 'utf8')
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as { detail: Record<string, string> }).detail)
      .flatMap(({ from, to, operation = '' }) =>
        from === 'secondary' && to === 'primary' ? [operation] : [],
      ),
  )

const ended = (executions: readonly StoredExecution[]): string[] =>
  executions.map(({ status, cause }) => (cause === null ? status : `${status}: ${cause}`))

/** Waits until one cluster serves and the other cluster follows it with equal position and root. */
async function isWhole(primary: KilledHost, secondary: KilledHost): Promise<void> {
  await eventually(async () => {
    const [p, s] = await Promise.all([statusOf(primary), statusOf(secondary)])
    const even = s.state === 'stream-wals' && p.last_dr_wal === s.last_remote_wal
    return even && p.merkle_root !== '' && p.merkle_root === s.merkle_root ? true : undefined
  })
  expect(await health()).toEqual(primary === east ? [200, 472] : [472, 200])
}

const stepsOf = (name: keyof typeof workflowDefinitions): string[] =>
  workflowDefinitions[name].steps.map(step => (typeof step === 'string' ? step : `wait ${step.seconds} s`))

const print = (...said: unknown[]): void => {
  if (sized(false, true))
    process.stdout.write(`${said.join(' ')}
`)
}

test('an activation ends with one outcome although its host is killed', async () => {
  await write(west, 'old', west.file().root_token)
  const own = west.file().root_token
  await ok(east, `${R}/primary/enable`, { primary_cluster_addr: east.file().link_address })
  await eventually(async () => {
    const { state, reindex_in_progress: building } = await statusOf(east)
    return state === 'running' && building !== true ? true : undefined
  })
  await write(east, 'new')
  operator = await createFailoverToken(east.file())

  const token = await activation(east)
  const steps = sized(['wipe'], stepsOf('activation'))
  const { executions, met } = await killedAt(west, 'activation', steps, () =>
    west.request('POST', `${R}/secondary/enable`, { token }, own),
  )
  print('activation, killed in', met)
  expect(ended(executions)).toEqual(['SUCCEEDED'])
  await isWhole(east, west)
})

/** Promotes the secondary while its host is killed. @returns the new primary and secondary */
async function promoted(
  [primary, secondary]: readonly [KilledHost, KilledHost],
  steps: readonly string[],
): Promise<[KilledHost, KilledHost]> {
  const before = promotions()
  const name = `before-${before.size}`
  await write(primary, name)
  const { executions, met } = await killedAt(secondary, 'promotion', steps, () =>
    secondary.request('POST', `${R}/secondary/promote`, { dr_operation_token: operator }),
  )
  print('promotion, killed in', met)
  expect(ended(executions)).toEqual(['SUCCEEDED'])
  await eventually(async () => ((await statusOf(secondary)).mode === 'primary' ? true : undefined))
  expect((await secondary.request('GET', `/sys/policies/acl/${name}`, undefined, root)).status).toBe(200)
  expect((await statusOf(primary)).mode).toBe('secondary')
  const repeated = await secondary.request('POST', `${R}/secondary/promote`, { dr_operation_token: operator })
  expect([200, 400]).toContain(repeated.status)
  const operations = await eventually(() => (promotions().size > before.size ? promotions() : undefined))
  expect(operations.size).toBe(before.size + 1)
  await write(secondary, `after-${before.size}`)
  return [secondary, primary]
}

/** Makes the former primary follow the new primary while the former primary's host is killed. */
async function followed([primary, secondary]: readonly [KilledHost, KilledHost], steps: readonly string[]) {
  const token = await activation(primary)
  const { executions, met } = await killedAt(secondary, 'update-primary', steps, () =>
    secondary.request('POST', `${R}/secondary/update-primary`, { dr_operation_token: operator, token }),
  )
  print('update-primary, killed in', met)
  expect(ended(executions)).toEqual(['SUCCEEDED'])
  await isWhole(primary, secondary)
}

test('a promotion and update-primary end with one outcome although their hosts are killed', async () => {
  let roles: [KilledHost, KilledHost] = [east, west]
  const following = stepsOf('update-primary')
  for (const [index, step] of sized(['claim'], [...stepsOf('promotion')]).entries()) {
    roles = await promoted(roles, [step])
    if (sized(true, false)) return
    await followed(roles, following.slice(index, index + 1))
  }
  // the host is killed in all steps of one operation
  roles = await promoted(roles, stepsOf('promotion'))
  await followed(roles, following)
})

/** Registers tests that only `npm run test:long` runs. */
const long = sized<(title: string, play: () => Promise<void>) => void>(() => undefined, test)

long('a demotion ends with one outcome although its host is killed', async () => {
  let roles: [KilledHost, KilledHost] = (await health())[0] === 200 ? [east, west] : [west, east]
  for (const step of stepsOf('demotion')) {
    const [primary] = roles
    const { executions, met } = await killedAt(primary, 'demotion', [step], () =>
      primary.request('POST', `${R}/primary/demote`, {}, root),
    )
    print('demotion, killed in', met)
    expect(ended(executions)).toEqual(['SUCCEEDED'])
    expect((await statusOf(primary)).mode).toBe('secondary')
    const [, secondary] = roles
    const over = { dr_operation_token: operator, force: false }
    await eventually(async () => {
      const reply = await secondary.request('POST', `${R}/secondary/promote`, over)
      return reply.status === 200 ? true : undefined
    }, 500)
    roles = [secondary, primary]
    await followed(roles, [])
  }
})

long('an attempt to make an operation token ends with one outcome although its host is killed', async () => {
  const secondary = (await health())[0] === 200 ? west : east
  const attempt = `${R}/secondary/generate-operation-token`
  let nonce = ''
  const give = (share = '') => secondary.request('POST', `${attempt}/update`, { nonce, key: share })
  let given = 0
  const { executions, met } = await killedAt(
    ...([secondary, 'operation-token-attempt', Array(3).fill('wait for a share')] as const),
    async () => {
      nonce = (await secondary.request('POST', `${attempt}/attempt`, {})).body.nonce
    },
    async () => {
      const shown = (await secondary.request('GET', `${attempt}/attempt`)).body
      expect(shown).toMatchObject({ started: true, progress: given })
      nonce = shown.nonce
      const reply = await give(shares[given])
      expect(reply.status, reply.text).toBe(200)
      given += 1
      expect(reply.body.complete ?? false).toBe(given === 3)
    },
  )
  print('attempt, killed in', met)
  expect(ended(executions)).toEqual(['SUCCEEDED'])
})

long(
  'a former primary, killed or stopped, acknowledges no writes after another cluster took over',
  async () => {
    // the imitated AWS belongs to east
    const [old, successor] = [west, east]
    for (const away of ['killed', 'stopped'] as const) {
      if ((await health())[1] !== 200) {
        if ((await statusOf(west)).state !== 'stream-wals') await followed([east, west], [])
        await ok(west, `${R}/secondary/promote`, { dr_operation_token: operator })
      }
      if ((await statusOf(east)).state !== 'stream-wals') await followed([west, east], [])
      const back = await old.away(away)
      const force = { dr_operation_token: operator, force: true }
      await eventually(async () =>
        (await successor.request('POST', `${R}/secondary/promote`, force)).status === 200 ? true : undefined,
      )
      const returned = back()
      // sends the request at the first moment at which the host's port is open
      const first = await eventually(
        () => old.request('POST', '/sys/policies/acl/doomed', POLICY, root).catch(() => undefined),
        20,
      )
      expect([400, 503], `${away}: ${first.text}`).toContain(first.status)
      await returned
    }
  },
)
