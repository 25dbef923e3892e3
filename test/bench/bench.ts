// Measures logins by number of clients, as curves: `npm run bench`. The tests never run this program. `MODES`
// lists its other modes.

import { fork, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkoutRoot } from '../../infra/checkout.ts'
import { connectToImitatedAws } from '../../infra/local/host/aws-process.ts'
import { type LocalHost, type LocalHostOptions, startLocalHost } from '../../infra/local/host/host.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { againstBench } from './compare.ts'
import { curvesBench } from './curves.ts'
import { growthBench } from './growth.ts'
import { jwtBench } from './jwt.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import { type Curve, pictureOf } from './picture.ts'
import { replicationBench } from './replication.ts'
import { startBench } from './start.ts'
import { makeWorld, type World } from './world.ts'

const INSTANCES = 400
const { values: asked } = parseArgs({
  options: {
    against: { type: 'string' },
    cost: { type: 'string' },
    growth: { type: 'string' },
    help: { type: 'boolean' },
    jwt: { type: 'boolean' },
    options: { type: 'string', default: '{}' },
    pictures: { type: 'string', default: '.build/bench' },
    replication: { type: 'boolean' },
    start: { type: 'boolean' },
  },
})

const HELP = `npm run bench [-- mode]    measures logins by 1 to 256 clients, without a journal and with one

  --against DIR        processor time of a login beside that of another checkout
  --options JSON       with --against: options of this checkout's host (LocalHostOptions), for example to compare a setting
                       with its default: --against . --options '{"capacity":{"environments":1}}'
  --cost N             calls and prices of a pair at rest and under N logins a second
  --growth N,N         logins among so many tokens and roles
  --jwt                logins by tokens of AWS beside iam logins
  --replication        following and first syncs
  --start              first logins of new processes
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

/** Describes the machine on which the numbers depend. `load` is the load of the last minute. */
const machine = () => ({
  cores: availableParallelism(),
  processor: cpus()[0]?.model ?? 'unknown',
  node: process.version,
  load: loadavg()[0],
})

/** Starts the imitated AWS in its own process, so that its work does not count as the host's. */
function providerProcess(): Promise<ReachedProvider & { stop: () => void }> {
  const child = spawn(process.execPath, ['infra/local/provider/main.ts', '--port', '0'], {
    cwd: checkoutRoot,
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

/** Logs in from a separate process. */
function load(order: LoadOrder): Promise<LoadResult> {
  const child = fork(`${checkoutRoot}test/bench/load.ts`, [], {
    env: { PATH: process.env['PATH'] },
    silent: true,
  })
  return new Promise((resolve, reject) => {
    child.on('message', message => {
      if (message === 'ready') return child.send(order)
      child.kill()
      const { error } = message as { error?: string }
      return error ? reject(new Error(error)) : resolve(message as LoadResult)
    })
    child.once('error', reject)
  })
}

// a test counts the calls of a pair, with the clock of its clusters
if (asked.cost) {
  const { status } = spawnSync(
    'npx',
    ['vitest', 'run', '--config', '.config/vitest.long.config.ts', 'test/long/rest.test.ts'],
    { cwd: checkoutRoot, stdio: 'inherit', env: { ...process.env, LOGINS_A_SECOND: asked.cost } },
  )
  process.exit(status ?? 1)
}

const provider = await providerProcess()

/** Runs work with a host in this process and a fleet that logs in to it. */
async function withHost(work: (host: LocalHost, world: World) => Promise<void>): Promise<void> {
  const host = await startLocalHost({
    cluster: 'bench',
    port: 0,
    memory: true,
    provider: () => connectToImitatedAws(provider),
  })
  try {
    await work(host, await makeWorld(host, INSTANCES))
  } finally {
    await host.close()
  }
}

function draw(title: string, at: readonly number[], curves: Curve, of = ''): void {
  mkdirSync(`${checkoutRoot}${asked.pictures}`, { recursive: true })
  const file = `${asked.pictures}/${title.replace(/\W+/g, '-')}.svg`
  writeFileSync(checkoutRoot + file, pictureOf(title, at, curves, of))
  print(`\nDrawn: ${file}`)
}

const tools = { print, results, load, provider, another: providerProcess, draw }

/** The modes of the bench. The numbers of each mode are kept in `bench-<name>.json`. */
const MODES = {
  against: () =>
    againstBench(resolve(asked.against ?? ''), JSON.parse(asked.options) as Partial<LocalHostOptions>, tools),
  growth: () =>
    withHost((host, world) => growthBench(host, world, (asked.growth ?? '').split(',').map(Number), tools)),
  jwt: () => jwtBench(tools),
  replication: () => replicationBench(provider, tools),
  start: () =>
    withHost(async (host, world) => {
      const directory = mkdtempSync(`${tmpdir()}/cloud-auth-bench-`)
      await startBench(host, world, directory, tools)
      rmSync(directory, { recursive: true, force: true })
    }),
} satisfies Partial<Record<keyof typeof asked, () => Promise<void>>>

try {
  const names = Object.keys(MODES) as (keyof typeof MODES)[]
  const mode = names.find(name => asked[name])
  await (mode ? MODES[mode]() : curvesBench(tools))
  const file = mode ? `bench-${mode}.json` : 'bench.json'
  mkdirSync(`${checkoutRoot}.build`, { recursive: true })
  writeFileSync(
    `${checkoutRoot}.build/${file}`,
    `${JSON.stringify({ machine: machine(), ...results }, null, 2)}\n`,
  )
  print(`\nThe numbers are in .build/${file}`)
} finally {
  provider.stop()
}
