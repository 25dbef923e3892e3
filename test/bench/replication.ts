import { rmSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { startEngine } from '../../infra/local/engine/engine.ts'
import { connectToImitatedAws } from '../../infra/local/host/aws-process.ts'
import { type LocalHost, startLocalHost } from '../../infra/local/host/host.ts'
import { makeTemporaryDirectory } from '../../infra/local/os/temporary.ts'
import { readDrStatus, requestReplication, waitUntilTrue } from '../../infra/local/pair/dr-client.ts'
import { joinLocalPair } from '../../infra/local/pair/pair.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { readAssembly } from '../../infra/local/template/assembly.ts'
import { synthesiseTemplates } from '../../infra/local/template/synth.ts'
import { createCallMeter, systemClock, systemEntropy } from '../../shared/adapters/aws/system.ts'
import { createDynamoTables } from '../../shared/adapters/aws/table.ts'
import type { Journal } from '../../shared/journal/journal.ts'
import { entry } from '../support/requests/lists.ts'
import { seed, sendTo, snapshot, tableStore } from '../support/tables/store.ts'
import { appliedRate, benchCredentials } from './applied.ts'
import { childrenMs } from './children.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import type { Curve } from './picture.ts'
import { writeUnits } from './units.ts'
import { whereIs } from './where.ts'
import { makeWorld, type World } from './world.ts'

/** Tools that the bench gives its parts. */
export interface BenchTools {
  print(text: string): void
  /** numbers that are written to the file of results */
  results: Record<string, unknown>
  /** logs in from a separate process */
  load(order: LoadOrder): Promise<LoadResult>
  draw(title: string, at: readonly number[], curves: Curve, of: string): void
}

const INSTANCES = 400
const SECONDS = 8
const LAG_SECONDS = 70
const AT_ONCE = 16
/** Journal entries to apply, and milliseconds for which transactions lock their items as on AWS. */
const CELLS = 8000
const TAKES_FOR = 5
/** Items that the journal starts with and that the first sync fetches. */
const ITEMS = 5000
const SAMPLE_MS = 25
const CHANGEOVER_MS = 30_000

/**
 * `npm run bench -- --replication`: measures the costs of replication for a primary, and the speed of
 * a secondary.
 */
export async function replicationBench(provider: ReachedProvider, tools: BenchTools): Promise<void> {
  const { print, results } = tools
  const [processor] = cpus()
  print(`${availableParallelism()} cores (${processor?.model ?? 'unknown'}), Node ${process.version}`)
  const shared = {
    port: 0,
    memory: true,
    provider: () => connectToImitatedAws(provider),
  }
  const east = await startLocalHost({ ...shared, cluster: 'east' })
  try {
    await applied(tools)
    const world = await makeWorld(east, INSTANCES)
    print('\nWithout a journal')
    const plain = await logins(east, world, 'plain', tools)
    await enabled(east, tools)
    print('\nWith one')
    const journaled = await logins(east, world, 'journaled', tools)
    for (const type of ['ec2', 'iam'] as const)
      print(`  ${type}   ${(journaled[type] / plain[type]).toFixed(2)} of the logins without`)
    await units(east, world, tools)
    const west = await startLocalHost({ ...shared, cluster: 'west', region: 'us-west-2' })
    try {
      await joined({ east, west }, tools)
      results['lag'] = await lag({ east, west }, world, journaled.ec2 / 2, tools)
    } finally {
      await west.close()
    }
  } finally {
    await east.close()
  }
}

async function applied({ print, results }: BenchTools): Promise<void> {
  const assembly = await synthesiseTemplates({ legacySignatures: false })
  const model = readAssembly(assembly, { account: HOME_ACCOUNT.account, region: HOME_ACCOUNT.region })
  const directory = makeTemporaryDirectory()
  // a host's engine allows no new tables
  const engine = await startEngine({
    directory,
    tables: [],
    region: HOME_ACCOUNT.region,
    credentials: benchCredentials,
  })
  print(
    `\nCells that a secondary stores and applies, of ec2 logins (a token and an entry each), ${CELLS} behind`,
  )
  try {
    for (const [name, options] of [
      [`fleet of ${INSTANCES}`, { instances: INSTANCES }],
      ['each another instance', { instances: CELLS }],
      [`fleet of ${INSTANCES}, as on AWS`, { instances: INSTANCES, takesFor: TAKES_FOR }],
      ['each another instance, as on AWS', { instances: CELLS, takesFor: TAKES_FOR }],
    ] as const) {
      const rate = await appliedRate({ engine: engine.url, model }, { count: CELLS, ...options })
      results[`applied ${name}`] = rate
      print(
        `  ${name}: ${rate.perSecond.toFixed(0)}/s   (${rate.cpuMs.toFixed(2)} ms of its process for a journal entry, ${rate.engineMs.toFixed(2)} of the engine’s)`,
      )
    }
  } finally {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function logins(
  host: LocalHost,
  world: World,
  name: string,
  { print, results, load }: BenchTools,
): Promise<Record<'ec2' | 'iam', number>> {
  const rates = { ec2: 0, iam: 0 }
  for (const type of ['ec2', 'iam'] as const) {
    const url = `${host.base_url}/auth/cloud/login`
    const run = await load({ url, bodies: world[type], concurrency: AT_ONCE, seconds: SECONDS })
    rates[type] = run.perSecond
    results[`${name} ${type}`] = run
    print(
      `  ${type}   concurrency ${AT_ONCE}   ${run.perSecond.toFixed(0)}/s   p50 ${run.p50.toFixed(0)} ms   p99 ${run.p99.toFixed(0)} ms   refused ${run.refused}`,
    )
  }
  return rates
}

/** Enables replication with many items in the tables. */
async function enabled(host: LocalHost, { print, results }: BenchTools): Promise<void> {
  const store = tableStore(whereIs(host))
  await seed(
    store,
    Array.from({ length: ITEMS }, (_, index) => entry('access', 'nobody', `i-${index}`, -1000)),
  )
  const began = performance.now()
  await requestReplication(host, 'primary/enable', { primary_cluster_addr: host.link_address })
  for (let built = false; !built; await setTimeout(100)) {
    const { state, isBuilding: building } = await readDrStatus(host)
    built = state === 'running' && building !== true
  }
  const perSecond = (ITEMS / (performance.now() - began - CHANGEOVER_MS)) * 1000
  results['enable'] = { items: ITEMS, perSecond }
  print(`\nThe journal is begun: ${perSecond.toFixed(0)} items/s, beside the 30 s that are waited`)
}

function journalOf(host: LocalHost): Journal {
  const { tables, engine_url, credentials } = whereIs(host)
  const given = { tables, clock: systemClock, entropy: systemEntropy, meter: createCallMeter(), log: console }
  return createDynamoTables(given, sendTo(engine_url, credentials)).journal
}

/** Computes the write units of a login on AWS from its journal entry. */
async function units(host: LocalHost, world: World, { print, results }: BenchTools): Promise<void> {
  const MODEL = { ec2: [14, 12], iam: [8, 6] }
  const journal = journalOf(host)
  print('\nWrite units of a login on AWS, primary and secondary, by the sizes of what it wrote (model)')
  for (const type of ['ec2', 'iam'] as const) {
    await fetch(`${host.base_url}/auth/cloud/login`, { method: 'POST', body: world[type][0] ?? '' })
    const head = await journal.head()
    const entries = head ? await journal.entries(head.lineage, head.last - 10, head.last) : []
    const entry = entries.findLast(one => one?.body.some(({ kind }) => kind === 'token'))
    if (!entry) throw new Error('the login is not in the journal')
    const { primary, secondary } = writeUnits(entry)
    results[`units ${type}`] = { primary, secondary }
    print(`  ${type}   ${primary} and ${secondary}   (${MODEL[type].join(' and ')})`)
  }
}

interface Synced {
  items: number
  /** the duration of the sync in milliseconds, and the processor time of both engines during the sync */
  ms: number
  engineMs: number
}

/** Makes the second host a secondary, and measures its first sync and the comparison after it. */
async function joined(
  pair: { east: LocalHost; west: LocalHost },
  { print, results }: BenchTools,
): Promise<void> {
  const joining = joinLocalPair(pair, () => undefined)
  const [synced] = await Promise.all([watchedSync(pair.west), joining])
  const { items, ms, engineMs, comparedMs } = synced
  const [perSecond, compared] = [(items / ms) * 1000, (items / (ms + comparedMs)) * 1000]
  results['sync'] = { ...synced, perSecond, compared }
  print(
    `\nThe first sync of ${items} items: ${perSecond.toFixed(0)} items/s, ${(engineMs / items).toFixed(2)} ms of the engines for each; with the comparison behind it ${compared.toFixed(0)} items/s`,
  )
}

async function watchedSync(host: LocalHost): Promise<Synced & { comparedMs: number }> {
  const journal = journalOf(host)
  let [from, to, engineFrom, engineTo] = [0, 0, 0, 0]
  for (; to === 0; await setTimeout(20)) {
    const isSyncing = (await journal.head())?.mode === 'syncing'
    if (isSyncing && from === 0) [from, engineFrom] = [performance.now(), childrenMs()]
    if (!isSyncing && from > 0) [to, engineTo] = [performance.now(), childrenMs()]
  }
  const where = whereIs(host)
  const stored = [...(await snapshot(where)).keys()]
  const items = stored.filter(name => name.startsWith(`${where.tables.data} `))
  await waitUntilTrue(
    'the secondary does not follow',
    async () => (await readDrStatus(host)).state === 'stream-wals',
  )
  const comparedMs = performance.now() - to
  return { items: items.length, ms: to - from, engineMs: engineTo - engineFrom, comparedMs }
}

interface Sample {
  at: number
  seq: number
}

/**
 * Measures the delay until the secondary has applied a position of the primary, at half of the primary's
 * highest rate. The measurement runs longer than a minute, because workers are started again each minute.
 */
async function lag(
  { east, west }: { east: LocalHost; west: LocalHost },
  world: World,
  perSecond: number,
  { print, load, draw }: BenchTools,
) {
  const [primary, secondary] = [journalOf(east), journalOf(west)]
  const written: Sample[] = []
  const done: Sample[] = []
  let ended = false
  const watch = async (journal: Journal, samples: Sample[], of: 'last' | 'applied') => {
    while (!ended) {
      const head = await journal.head()
      if (head) samples.push({ at: performance.now(), seq: head[of] })
      await setTimeout(SAMPLE_MS)
    }
  }
  const watching = Promise.all([watch(primary, written, 'last'), watch(secondary, done, 'applied')])
  const url = `${east.base_url}/auth/cloud/login`
  const order = { url, bodies: world.ec2, concurrency: AT_ONCE, seconds: LAG_SECONDS, perSecond }
  const caughtUp = () =>
    waitUntilTrue(
      'the secondary does not catch up',
      async () => (done.at(-1)?.seq ?? 0) >= (written.at(-1)?.seq ?? 1),
    )
  // the secondary first applies the journal entries from before the first sync
  await caughtUp()
  for (const samples of [written, done]) samples.splice(0, samples.length - 1)
  const run = await load(order)
  await caughtUp()
  ended = true
  await watching
  const lags = written.flatMap(({ at, seq }) => {
    const there = done.find(one => one.seq >= seq)
    return there ? [{ at, lag: Math.max(0, there.at - at) }] : []
  })
  const found = { perSecond: run.perSecond, p50: share(lags, 0.5), p99: share(lags, 0.99) }
  drawLags(lags, draw)
  print(
    `\nLag at ${found.perSecond.toFixed(0)} ec2 logins/s, half of what this machine takes: p50 ${found.p50.toFixed(0)} ms, p99 ${found.p99.toFixed(0)} ms`,
  )
  return found
}

interface Lag {
  /** milliseconds: the time of the write, and the delay until the secondary had applied it */
  at: number
  lag: number
}

/** Returns the lag that a given part of all lags did not exceed. */
const share = (lags: readonly Lag[], part: number): number =>
  lags.map(one => one.lag).toSorted((a, b) => a - b)[Math.floor(lags.length * part)] ?? 0

const SPAN_MS = 5000

function drawLags(lags: readonly Lag[], draw: BenchTools['draw']): void {
  const begun = lags[0]?.at ?? 0
  const spans = [...Map.groupBy(lags, ({ at }) => Math.floor((at - begun) / SPAN_MS))]
  const curves = {
    p50: spans.map(([, own]) => share(own, 0.5)),
    p99: spans.map(([, own]) => share(own, 0.99)),
  }
  const at = spans.map(([span]) => (span * SPAN_MS) / 1000)
  draw('lag of the secondary, ms', at, curves, 'seconds of steady logins')
}
