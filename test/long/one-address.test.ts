import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { signLogin } from '../../infra/command/login/signed-login.ts'
import { HEALTH_CHECK_INTERVAL_S, SHARED_NAME_TTL_S } from '../../infra/constructs/fronts/shared-name.ts'
import { waitUntilCaughtUp } from '../../infra/local/commands/drill/drill.ts'
import { createFailoverToken } from '../../infra/local/commands/drill/failover-token.ts'
import { demonstrateLogins } from '../../infra/local/commands/start/demonstration.ts'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { readDrStatus, requestReplication, waitUntilTrue } from '../../infra/local/pair/dr-client.ts'
import { type ClusterPair, joinLocalPair, startClusterPair } from '../../infra/local/pair/pair.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { pictureOf } from '../bench/picture.ts'
import { type KindName, kinds, programs, startWorkload, type Workload } from '../support/address/clients.ts'
import { type Door, type SharedName, startSharedName } from '../support/address/shared-name.ts'
import { type LinkTap, startLinkTap } from '../support/faults/link-tap.ts'
import { makeClusterFollow } from '../support/service/follow.ts'

// Workloads in Go, Python and Node renew and log in by one address during a planned switch and two
// disasters. The name behaves as the template's DNS records, but `SCALE` times faster (1: as on AWS). The
// maximum age of connections is scaled too; timeouts and clusters are not.

const SCALE = Number(process.env['SCALE'] ?? 5)
const MAX_AGE = 30 / SCALE
const PAUSE = 0.5
const TIMEOUT = 5
/** Seconds that the page promises: one health check, the DNS TTL, and the maximum age of a connection. */
const COMPUTED = (HEALTH_CHECK_INTERVAL_S + SHARED_NAME_TTL_S) / SCALE + MAX_AGE
/** Additional seconds for a request in progress and a busy machine. */
const SLACK = TIMEOUT + 10

const AGED = 'API Gateway, greatest age 30 s'
/** The connections of the workloads, and whether they close old connections. */
const ways = {
  [AGED]: { passesClose: false, maxAge: MAX_AGE, comesBack: true },
  'Connection: close passes, no greatest age': { passesClose: true, maxAge: 0, comesBack: true },
  'API Gateway, no greatest age': { passesClose: false, maxAge: 0, comesBack: false },
} as const
type Way = keyof typeof ways

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-`)
let pair: ClusterPair<LocalHost>
let tap: LinkTap
let operation = ''
let there: Map<KindName, string[]>
const report: Record<string, unknown> = {}

beforeAll(async () => {
  const found = programs(kinds, directory)
  ;({ there } = found)
  for (const [name, why] of found.absent) process.stderr.write(`ABSENT on this machine: ${name}: ${why}\n`)
  report['absent'] = Object.fromEntries(found.absent)
  for (const language of ['Go', 'Python', 'Node'])
    expect(
      [...there.keys()].some(name => name.startsWith(language)),
      `${language} is not here`,
    ).toBe(true)
  pair = await startClusterPair({ port: 0, memory: true, unlisted: true })
  const { east } = pair
  tap = await startLinkTap(new URL(east.base_url).origin)
  if (!(await joinLocalPair(pair, () => undefined, { address: tap.url })))
    throw new Error('they did not join')
  await demonstrateLogins(east, () => ({}))
  operation = await createFailoverToken(east)
})

afterAll(async () => {
  await tap?.close()
  await pair?.close()
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(`${checkoutRoot}.build`, { recursive: true })
  writeFileSync(
    `${checkoutRoot}.build/one-address.json`,
    `${JSON.stringify({ SCALE, ...report }, null, 2)}\n`,
  )
  draw()
})

/** A workload with one kind of connections. */
interface Running {
  kind: KindName
  way: Way
  door: Door
  workload: Workload
}

let instances = 0
/** Returns the login of a workload. Each ec2 login has its own instance. */
async function proofOf(
  kind: KindName,
  { control }: LocalHost,
): Promise<{ login: string; credentials: string }> {
  const session = await control.session({
    account: HOME_ACCOUNT.account,
    role: 'web-server',
    session: 'workload',
  })
  const credentials = JSON.stringify(session)
  if (kinds[kind].login === 'iam')
    return { login: JSON.stringify({ role: 'demo-iam', ...signLogin(session) }), credentials }
  instances += 1
  const instanceId = `i-0c10ad0a7c${String(instances).padStart(7, '0')}`
  const profile = `arn:aws:iam::${HOME_ACCOUNT.account}:instance-profile/web-server`
  await control.putInstance({ ...HOME_ACCOUNT, instanceId, instanceProfileArn: profile })
  const { rsa2048 } = await control.documents({ ...HOME_ACCOUNT, instanceId })
  return {
    login: JSON.stringify({
      role: 'demo-ec2',
      pkcs7: rsa2048.replaceAll('\n', ''),
      nonce: `nonce-${instances}`,
    }),
    credentials,
  }
}

/** Starts all workloads with some kinds of connections, and waits until each has renewed its token. */
async function working(name: SharedName, host: LocalHost, some: readonly Way[]): Promise<Running[]> {
  const all: Running[] = []
  for (const way of some)
    for (const [kind, command] of there) {
      const { passesClose, maxAge } = ways[way]
      const door = await name.door(passesClose)
      const settings = { address: door.url, maxAge, pause: PAUSE, timeout: TIMEOUT }
      const workload = startWorkload(command, { ...settings, ...(await proofOf(kind, host)) })
      all.push({ kind, way, door, workload })
    }
  const idle = () =>
    all.filter(({ workload }) => !workload.told.some(one => one.op === 'renew' && one.error === ''))
  try {
    await waitUntilTrue('workloads do not work', async () => idle().length === 0)
  } catch (error) {
    const why = idle().map(({ kind, workload: { told, complaints } }) => ({
      kind,
      last: told.at(-1),
      complaints,
    }))
    throw new Error(`${JSON.stringify(why)}`, { cause: error })
  }
  return all
}

/** Polls a cluster's health at its own address. @returns the epoch milliseconds of the first 200 */
function firstOk(host: LocalHost): Promise<number> {
  const look = async (): Promise<number> => {
    const asked = await fetch(`${host.base_url}/sys/health`).catch(() => undefined)
    await asked?.arrayBuffer()
    if (asked?.status === 200) return Date.now()
    await setTimeout(50)
    return look()
  }
  return look()
}

/**
 * The result for a workload. `over` is the number of seconds until only the new primary served the workload.
 */
interface Outcome {
  kind: KindName
  way: Way
  over?: number
  kept: boolean
  errors: Record<string, number>
}

function outcomeOf(
  { kind, way, door, workload }: Running,
  to: LocalHost,
  begun: number,
  since: number,
): Outcome {
  const late = door.passed.filter(({ at }) => at >= begun)
  const last = late.findLastIndex(one => one.to !== to.cluster)
  const first = late.slice(last + 1).find(({ status }) => status >= 200 && status < 300)
  const told = workload.told.filter(({ at }) => at >= begun)
  const errors: Record<string, number> = {}
  for (const { error } of told) if (error !== '') errors[error] = (errors[error] ?? 0) + 1
  const [renewed] = told.filter(({ op, at }) => op === 'renew' && at >= (first?.at ?? Infinity)).slice(-1)
  return {
    kind,
    way,
    ...(first && { over: Math.max(0, (first.at - since) / 1000) }),
    kept: renewed !== undefined && renewed.error === '' && renewed.first,
    errors,
  }
}

/** Seconds after which workloads had moved to the new primary, for the recommended kind of connections. */
const overBy: Record<string, number[]> = {}

function draw(): void {
  const most = Math.ceil(Math.max(0, ...Object.values(overBy).flat()))
  const at = Array.from({ length: 11 }, (_, index) => Math.round((index * most) / 10))
  const curves = Object.fromEntries(
    Object.entries(overBy).map(([title, overs]) => [
      title,
      at.map(seconds => overs.filter(over => over <= seconds).length),
    ]),
  )
  const title = `workloads that the new primary serves${SCALE === 1 ? '' : ` (${SCALE} times faster)`}`
  writeFileSync(`${checkoutRoot}.build/one-address.svg`, pictureOf(title, at, curves, 'seconds'))
}

/** Prints and stores all results. */
function tell(title: string, outcomes: readonly Outcome[], more: object): void {
  report[title] = { ...more, outcomes }
  overBy[title] = outcomes.flatMap(({ way, over }) => (way === AGED && over !== undefined ? [over] : []))
  const rows = outcomes.map(({ kind, way, over, kept, errors }) =>
    [
      kind.padEnd(24),
      way.padEnd(42),
      over === undefined ? 'stays' : `${over.toFixed(1)} s`,
      over === undefined ? 'as long as it was watched' : kept ? 'token kept' : 'token not kept',
      Object.entries(errors)
        .map(([error, count]) => `${count} × ${error}`)
        .join(', '),
    ].join(' | '),
  )
  process.stdout.write(`\n${title} (${SCALE} times faster): ${JSON.stringify(more)}\n${rows.join('\n')}\n`)
}

interface Change {
  title: string
  from: LocalHost
  to: LocalHost
  some: readonly Way[]
  /**
   * Changes the primary. `first` resolves when the new primary first answers 200. @returns epoch
   * milliseconds from which workloads can move; undefined: from `first`
   */
  change(name: SharedName, first: Promise<number>): Promise<number | undefined>
}

const behind = ({ cluster, base_url }: LocalHost) => ({ name: cluster, url: new URL(base_url).origin })

/** Keeps workloads running while another cluster becomes the primary. */
async function through({ title, from, to, some, change }: Change): Promise<Outcome[]> {
  await waitUntilCaughtUp(to, from)
  const name = await startSharedName({
    members: [behind(from), behind(to)],
    preferred: from.cluster,
    intervalMs: (HEALTH_CHECK_INTERVAL_S * 1000) / SCALE,
    ttlMs: (SHARED_NAME_TTL_S * 1000) / SCALE,
  })
  let all: Running[] = []
  try {
    all = await working(name, from, some)
    await waitUntilCaughtUp(to, from)
    const begun = Date.now()
    const first = firstOk(to)
    const moved = await change(name, first)
    const served = await first
    const since = moved ?? served
    const outcomes = () => all.map(one => outcomeOf(one, to, begun, since))
    const end = Date.now() + (COMPUTED + SLACK) * 1000
    const awaited = ({ way, over, kept }: Outcome) => ways[way].comesBack && !(over !== undefined && kept)
    while (Date.now() < end && outcomes().some(awaited)) await setTimeout(200)
    const found = outcomes()
    const overs = found.flatMap(({ way, over }) => (ways[way].comesBack && over !== undefined ? [over] : []))
    tell(title, found, {
      'seconds until it served': (served - begun) / 1000,
      ...(moved && { 'seconds until the check was believed no more': (moved - begun) / 1000 }),
      'seconds until the last was over': Math.max(...overs),
      computed: COMPUTED,
    })
    return found
  } finally {
    for (const { workload } of all) workload.end()
    await name.close()
  }
}

const promote = (host: LocalHost, force: boolean) =>
  requestReplication(host, 'secondary/promote', { dr_operation_token: operation, force }, operation)

function allCome(outcomes: readonly Outcome[], within = COMPUTED + SLACK): void {
  for (const { kind, way, over, kept } of outcomes) {
    if (!ways[way].comesBack) continue
    expect(over, `${kind}, ${way}`).toBeLessThan(within)
    expect(kept, `the token of ${kind}, ${way}`).toBe(true)
  }
}

test("in a disaster in which both clusters answer 200, workloads move only after the old cluster's health check is inverted", async () => {
  const { east, west } = pair
  const outcomes = await through({
    title: 'forced promotion, both answer',
    from: east,
    to: west,
    some: [AGED],
    change: async (name, first) => {
      tap.cut('both')
      await promote(west, true)
      await first
      // after any delay the name leads to the old primary, because DNS alone never changes the primary
      await setTimeout((2 * HEALTH_CHECK_INTERVAL_S * 1000) / SCALE)
      expect(name.leadsTo()).toBe('east')
      name.disbelieve('east')
      expect(name.leadsTo()).toBe('west')
      return Date.now()
    },
  })
  allCome(outcomes)
  tap.heal()
  await waitUntilTrue(
    'east does not stop serving',
    async () => (await readDrStatus(east)).mode === 'secondary',
  )
  await makeClusterFollow('east-2', east, west, operation)
})

test('after a planned switch all workloads move with their tokens', async () => {
  const { east, west } = pair
  const outcomes = await through({
    title: 'planned switch',
    from: west,
    to: east,
    some: Object.keys(ways) as Way[],
    change: async () => void (await promote(east, false)),
  })
  allCome(outcomes)
  // a client that never closes connections stays until the server closes them
  const stay = outcomes.filter(({ way }) => !ways[way].comesBack)
  expect(stay.filter(({ over }) => over === undefined).length).toBeGreaterThan(0)
  await makeClusterFollow('west-2', west, east, operation)
})

test('in a disaster with a silent primary, timeouts end the connections and workloads move', async () => {
  const { east, west } = pair
  const outcomes = await through({
    title: 'the primary is silent',
    from: east,
    to: west,
    some: [AGED],
    change: async name => {
      name.darken('east')
      return void (await promote(west, true))
    },
  })
  allCome(outcomes)
})
