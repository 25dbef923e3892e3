// `npm run bench`: logins by clients, as curves, what a login, its calls, its first answer and a tidy cost, as ratios to floors
// measured in the same run. Never part of the tests. What is measured instead, or alone: `MODES`, below.

import { fork, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { root } from '../../infra/checkout.ts'
import { awsAt } from '../../infra/local/host/aws-process.ts'
import { type Host, startHost } from '../../infra/local/host/host.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { ceremonyBench } from './ceremony.ts'
import { againstBench, journaledBench } from './compare.ts'
import { curvesBench } from './curves.ts'
import { growthBench } from './growth.ts'
import { limitedBench } from './limited.ts'
import type { LoadResult } from './load.ts'
import { memoryBench } from './memory.ts'
import { type Curve, pictureOf } from './picture.ts'
import { replicationBench } from './replication.ts'
import { sizes, startBench } from './start.ts'
import { tidyCost } from './tidy.ts'
import { wireBench } from './wire.ts'
import { loginEvent, makeWorld, type World } from './world.ts'

const INSTANCES = 400
const SEQUENTIAL = { warmUp: 500, counted: 1500 }
const { values: asked } = parseArgs({
  options: {
    /** entries that tidy removes; 0: none */
    tidy: { type: 'string', default: '100000' },
    against: { type: 'string' },
    ceremony: { type: 'boolean' },
    growth: { type: 'string' },
    help: { type: 'boolean' },
    journaled: { type: 'boolean' },
    limited: { type: 'boolean' },
    memory: { type: 'string' },
    /** where pictures are drawn, in the checkout */
    pictures: { type: 'string', default: '.build/bench' },
    replication: { type: 'boolean' },
    rest: { type: 'boolean' },
    start: { type: 'boolean' },
    wire: { type: 'boolean' },
  },
})

const HELP = `npm run bench [-- mode]    measures logins by 1 to 256 clients, and what a login costs

  --against DIR        processor time of a login beside that of another checkout
  --ceremony           what refusing an OpenPGP key costs
  --growth N,N         logins among so many tokens and roles
  --journaled          logins of a host with a journal beside one without
  --limited            logins where EC2 throttles
  --memory N           what a host holds after so many logins
  --replication        following and first syncs
  --rest               what a pair at rest asks
  --start              first logins of new processes
  --wire               calls to the tables beside the same over node:http
  --tidy N             entries that tidy removes (100000)
  --pictures DIR       where curves are drawn, in the checkout (.build/bench)

Numbers go to .build/bench.json, those of a mode to .build/bench-<mode>.json.
`
if (asked.help) {
  process.stdout.write(HELP)
  process.exit()
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}
const results: Record<string, unknown> = {}

/** What numbers depend on; the load is that of the last minute. */
const machine = () => ({
  cores: availableParallelism(),
  processor: cpus()[0]?.model ?? 'unknown',
  node: process.version,
  load: loadavg()[0],
})

/** The imitated AWS in a process of its own, so that its work is not counted as ours. */
function providerProcess(): Promise<ReachedProvider & { stop: () => void }> {
  const child = spawn(process.execPath, ['infra/local/provider/main.ts', '--port', '0'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.stdout.once('data', (line: Buffer) => {
      const reached = JSON.parse(line.toString()) as ReachedProvider
      resolve({ ...reached, stop: () => child.kill('SIGTERM') })
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

/** Does something with a host in this process, and a fleet that logs in to it. */
async function withHost(work: (host: Host, world: World) => Promise<void>): Promise<void> {
  const host = await startHost({
    cluster: 'bench',
    port: 0,
    memory: true,
    provider: () => awsAt(provider),
  })
  try {
    await work(host, await makeWorld(host, INSTANCES))
  } finally {
    await host.close()
  }
}

function draw(title: string, at: readonly number[], curves: Curve, of = ''): void {
  mkdirSync(`${root}${asked.pictures}`, { recursive: true })
  const file = `${asked.pictures}/${title.replace(/\W+/g, '-')}.svg`
  writeFileSync(root + file, pictureOf(title, at, curves, of))
  print(`\nDrawn: ${file}`)
}

const tools = {
  print,
  results,
  load: (order: object) => ordered<LoadResult>('load.ts', [], {}, order),
  provider,
  another: providerProcess,
  ordered,
  draw,
}
const floor = await bundleFloor(directory)

/** What can be asked for alone; its numbers are kept in `bench-<name>.json`. */
const MODES = {
  /** processor time beside that of another checkout, in turns */
  against: () => againstBench(resolve(asked.against ?? ''), tools),
  /** logins among so many tokens and roles, such as `1000,100000` */
  growth: () =>
    withHost((host, world) => growthBench(host, world, (asked.growth ?? '').split(',').map(Number), tools)),
  /** journaled logins beside plain ones, in turns */
  journaled: () => journaledBench(tools),
  /** logins where EC2 throttles */
  limited: () => limitedBench(tools),
  /** what a host holds after so many logins */
  memory: () => memoryBench(Number(asked.memory), tools),
  /** what replication costs, and how fast a secondary follows */
  replication: () =>
    replicationBench(provider, { ...tools, ownCost: (host, world) => ownCost(host, world, floor) }),
  /** first logins of new processes */
  start: () => withHost(async (host, world) => startBench(host, world, { directory, floor }, tools)),
  /** calls to the tables beside the same over node:http */
  wire: () => withHost((host, world) => wireBench(host, world, tools)),
} satisfies Partial<Record<keyof typeof asked, () => Promise<void>>>

async function everything(): Promise<void> {
  await curvesBench(tools)
  await withHost(async (host, world) => {
    await ownCost(host, world, floor)
    await wireBench(host, world, tools)
    sizes(host, tools)
    startBench(host, world, { directory, floor }, tools)
    await tidy(host, Number(asked.tidy))
  })
}

try {
  const names = Object.keys(MODES) as (keyof typeof MODES)[]
  const mode = names.find(name => asked[name])
  await (mode ? MODES[mode] : everything)()
  const file = mode ? `bench-${mode}.json` : 'bench.json'
  writeFileSync(`${root}.build/${file}`, `${JSON.stringify({ machine: machine(), ...results }, null, 2)}\n`)
  print(`\nThe numbers are in .build/${file}`)
} finally {
  provider.stop()
  rmSync(directory, { recursive: true, force: true })
}
