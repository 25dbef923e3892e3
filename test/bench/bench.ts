// `npm run bench`: logins by clients, as curves, and what a login and a tidy cost, as ratios to floors measured in the same
// run. Never part of the tests. `npm run bench -- --against <checkout>` compares processor time with another checkout,
// `-- --limited` has EC2 throttle. `npm run bench -- --tidy 1000` removes fewer entries than 100,000, `--tidy 0` none. `npm run bench --
// --replication` measures replication instead, `npm run bench -- --rest` what a pair at rest asks, and what that costs,
// `-- --ceremony` what it costs to refuse hostile OpenPGP keys.
import { fork, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { root } from '../../infra/checkout.ts'
import { awsAt } from '../../infra/local/host/aws-process.ts'
import { type Host, startHost } from '../../infra/local/host/host.ts'
import { ceremonyBench } from './ceremony.ts'
import { againstBench, curvesBench, median } from './curves.ts'
import { limitedBench } from './limited.ts'
import type { LoadResult } from './load.ts'
import { replicationBench } from './replication.ts'
import { tidyCost } from './tidy.ts'
import { wireBench } from './wire.ts'
import { loginEvent, makeWorld, type World } from './world.ts'

const INSTANCES = 400
const SEQUENTIAL = { warmUp: 100, counted: 400 }
const STARTS = 15
const { values: asked } = parseArgs({
  options: {
    tidy: { type: 'string', default: '100000' },
    replication: { type: 'boolean', default: false },
    rest: { type: 'boolean', default: false },
    ceremony: { type: 'boolean', default: false },
    against: { type: 'string' },
    limited: { type: 'boolean', default: false },
    wire: { type: 'boolean', default: false },
  },
})

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}
const results: Record<string, unknown> = {}

/** The imitated AWS in a process of its own, so that its work is not counted as ours. */
function providerProcess(): Promise<{ url: string; stop: () => void }> {
  const child = spawn(process.execPath, ['infra/local/provider/main.ts', '--port', '0'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.stdout.once('data', (line: Buffer) => {
      const { url } = JSON.parse(line.toString()) as { url: string }
      resolve({ url, stop: () => child.kill('SIGTERM') })
    })
  })
}

interface Cost {
  cpuMs: number
  wallMs: number
}

/** Starts a process of this bench, gives it its order, and waits for its result. */
function ordered<T>(
  file: string,
  parameters: string[],
  environment: Record<string, string>,
  order: object,
): Promise<T> {
  const child = fork(`${root}test/bench/${file}`, parameters, {
    env: { ...environment, PATH: process.env['PATH'] },
    silent: true,
  })
  return new Promise((resolve, reject) => {
    child.on('message', message => {
      if (message === 'ready') return child.send(order)
      child.kill()
      const { error } = message as { error?: string }
      return error ? reject(new Error(error)) : resolve(message as T)
    })
    child.once('error', reject)
  })
}

/** Serves events in a fresh process and tells what each cost it. */
const measure = (
  module: string,
  environment: Record<string, string>,
  events: unknown[],
  warmUp: number,
): Promise<Cost> => ordered('child.ts', [module], environment, { events, warmUp })

async function ownCost(host: Host, world: World, floor: string): Promise<void> {
  print('CPU per login, one after the other, in the Lambda’s process (warm)')
  const { code, environment } = host.runtimeOf('login')
  const { warmUp, counted } = SEQUENTIAL
  for (const type of ['ec2', 'iam'] as const) {
    const bodies = Array.from(
      { length: warmUp + counted },
      (_, index) => world[type][index % world[type].length] ?? '',
    )
    const own = await measure(`${code}/index.mjs`, environment, bodies.map(loginEvent), warmUp)
    const least = await measure(
      floor,
      environment,
      bodies.map(() => world.floor[type]),
      warmUp,
    )
    const ratio = own.cpuMs / least.cpuMs
    results[`cpu ${type}`] = { own, floor: least, ratio }
    print(
      `  ${type}   ${own.cpuMs.toFixed(2)} ms, floor ${least.cpuMs.toFixed(2)} ms: ${ratio.toFixed(2)} ×   (wall ${own.wallMs.toFixed(2)} ms, floor ${least.wallMs.toFixed(2)} ms)`,
    )
  }
}

async function tidy(host: Host, entries: number): Promise<void> {
  if (entries === 0) return
  print(`\nTidy of ${entries} expired entries in one run, wall time for each`)
  const cost = await tidyCost(host, entries)
  results['tidy'] = cost
  print(
    `  ${cost.own.toFixed(0)} µs, floor (the same deletions) ${cost.floor.toFixed(0)} µs: ${cost.ratio.toFixed(2)} ×`,
  )
}

function sizes(host: Host): void {
  const { code } = host.runtimeOf('login')
  const files = readdirSync(code).filter(name => name.endsWith('.mjs'))
  const bytes = (name: string) => statSync(`${code}/${name}`).size
  const total = files.reduce((sum, name) => sum + bytes(name), 0)
  results['bundle'] = { entry: bytes('index.mjs'), total }
  print(
    `\nBundle of the login: entry ${(bytes('index.mjs') / 1000).toFixed(0)} KB, with all chunks ${(total / 1000).toFixed(0)} KB`,
  )
}

/** Milliseconds from the start of a process to its first answer. */
function firstAnswer(script: string, environment: Record<string, string>): number {
  const started = performance.now()
  const run = spawnSync(process.execPath, [script], { env: { ...environment, PATH: process.env['PATH'] } })
  if (run.status !== 0) throw new Error(run.stderr.toString())
  return performance.now() - started
}

const HARNESS = (module: string, event: unknown) => `
  import { handler } from ${JSON.stringify(module)}
  const answer = await handler(${JSON.stringify(event)}, { getRemainingTimeInMillis: () => 15000 })
  if (answer.statusCode !== 200) { process.stderr.write(answer.body); process.exit(1) }
  process.exit(0)`

async function coldStart(host: Host, world: World, directory: string, floor: string): Promise<void> {
  const { code, environment } = host.runtimeOf('login')
  writeFileSync(`${directory}/empty.mjs`, 'export const handler = async () => ({ statusCode: 200 })')
  const scripts = {
    empty: HARNESS(`${directory}/empty.mjs`, {}),
    sdk: HARNESS(floor, world.floor.iam),
    login: HARNESS(`${code}/index.mjs`, loginEvent(world.iam[0] ?? '')),
  }
  for (const [name, text] of Object.entries(scripts)) writeFileSync(`${directory}/${name}-start.mjs`, text)
  const { NODE_COMPILE_CACHE: _, ...cold } = environment
  const times: Record<keyof typeof scripts, number[]> = { empty: [], sdk: [], login: [] }
  for (let round = 0; round < STARTS; round++) {
    for (const name of Object.keys(scripts) as (keyof typeof scripts)[])
      times[name].push(firstAnswer(`${directory}/${name}-start.mjs`, cold))
  }
  const [empty, sdk, login] = [median(times.empty), median(times.sdk), median(times.login)]
  results['cold start'] = { empty, sdk, login, ratioToSdk: login / sdk, ratioToEmpty: login / empty }
  print(`\nProcess start to first answer, median of ${STARTS} (iam login, nothing cached)`)
  print(
    `  empty bundle ${empty.toFixed(0)} ms; floor (empty bundle with the SDK and the same calls) ${sdk.toFixed(0)} ms; login ${login.toFixed(0)} ms`,
  )
  print(`  login: ${(login / sdk).toFixed(2)} × the floor, ${(login / empty).toFixed(2)} × the empty bundle`)
}

/** The floor as a bundle, made the same way as ours. */
async function bundleFloor(directory: string): Promise<string> {
  const outfile = `${directory}/floor.mjs`
  await build({
    entryPoints: [`${root}test/bench/floor.ts`],
    outfile,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
  })
  return outfile
}

if (asked.ceremony) {
  await ceremonyBench(print)
  process.exit()
}

// what a pair does beside requests is counted on the clock of the clusters in tests
if (asked.rest) {
  const vitest = ['run', '--config', '.config/vitest.long.config.ts', 'test/long/rest.test.ts']
  const { status } = spawnSync('npx', ['vitest', ...vitest], { cwd: root, stdio: 'inherit' })
  process.exit(status ?? 1)
}

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-bench-`)
const provider = await providerProcess()

async function measureLogins(floor: string): Promise<void> {
  const host = await startHost({
    cluster: 'bench',
    port: 0,
    memory: true,
    provider: () => awsAt(provider.url),
  })
  try {
    const world = await makeWorld(host, INSTANCES)
    await wireBench(host, world, { ...tools, ordered })
    if (asked.wire) return
    await ownCost(host, world, floor)
    sizes(host)
    await coldStart(host, world, directory, floor)
    await tidy(host, Number(asked.tidy))
  } finally {
    await host.close()
  }
}

const tools = {
  print,
  results,
  load: (order: object) => ordered<LoadResult>('load.ts', [], {}, order),
  provider: provider.url,
  another: providerProcess,
}

/** What is asked for, and the file of its numbers. */
async function run(): Promise<string> {
  if (asked.against !== undefined) {
    await againstBench(resolve(asked.against), tools)
    return 'bench-against.json'
  }
  if (asked.limited) {
    await limitedBench(tools)
    return 'bench-limited.json'
  }
  const floor = await bundleFloor(directory)
  if (asked.replication) {
    await replicationBench(provider, { ...tools, ownCost: (host, world) => ownCost(host, world, floor) })
    return 'bench-replication.json'
  }
  if (!asked.wire) await curvesBench(tools)
  await measureLogins(floor)
  return asked.wire ? 'bench-wire.json' : 'bench.json'
}

try {
  const file = await run()
  writeFileSync(`${root}.build/${file}`, `${JSON.stringify(results, null, 2)}\n`)
  print(`\nThe numbers are in .build/${file}`)
} finally {
  provider.stop()
  rmSync(directory, { recursive: true, force: true })
}
