// A process of the bench: a host of some checkout, with a fleet that logs in to it. The parent asks by its methods.

import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { awsAt } from '../../infra/local/host/aws-process.ts'
import type { Host, HostOptions } from '../../infra/local/host/host.ts'
import { askReplication, drStatusOf } from '../../infra/local/pair/dr-client.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { childrenMs } from './children.ts'
import { makeWorld } from './world.ts'

export interface ServeOrder {
  /** a checkout, with its slash */
  directory: string
  /** URL of the imitated AWS */
  provider: ReachedProvider
  instances: number
  capacity?: HostOptions['capacity']
}

export interface Served {
  url: string
  bodies: Record<'ec2' | 'iam', string[]>
}

/** Processor time so far, milliseconds. `threads`: of functions; `helpers`: what sweeps and compiles. */
export interface CpuParts {
  main: number
  threads: number
  helpers: number
  engine: number
}

const workers = new Set<Worker>()
process.on('worker', worker => {
  workers.add(worker)
  worker.once('exit', () => workers.delete(worker))
})

const milliseconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000
async function cpu(): Promise<CpuParts> {
  // one that has just ended has taken its time with it
  const none = { user: 0, system: 0 }
  const each = await Promise.all([...workers].map(worker => worker.cpuUsage().catch(() => none)))
  const threads = each.reduce((sum, one) => sum + milliseconds(one), 0)
  const main = milliseconds(process.threadCpuUsage())
  return { main, threads, helpers: milliseconds(process.cpuUsage()) - main - threads, engine: childrenMs() }
}

/** What calls to AWS go through: clients, connections, and what Node has for both. */
const WIRE =
  /node_modules\/@(aws-sdk|aws|smithy)\/|adapters\/aws\/(wire\/|client|connections|storage\/together)/
const NODES_WIRE =
  /^node:(_http|http|net|_stream|stream|internal\/(streams|stream_base|timers|http|url|dtrace|js_stream))/

interface Profile {
  nodes: {
    id: number
    callFrame: { url: string; functionName: string; lineNumber: number; columnNumber: number }
  }[]
  samples: number[]
  timeDeltas: number[]
}

const maps = new Map<string, SourceMap | undefined>()
function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) {
    const file = `${fileURLToPath(url)}.map`
    let map: SourceMap | undefined
    try {
      map = new SourceMap(JSON.parse(readFileSync(file, 'utf8')))
    } catch {
      // it is no bundle
    }
    maps.set(url, map)
  }
  return maps.get(url)
}

function isWire({ url, lineNumber, columnNumber }: Profile['nodes'][number]['callFrame']): boolean {
  if (!url.startsWith('file:')) return NODES_WIRE.test(url)
  const entry = mapOf(url)?.findEntry(lineNumber, columnNumber)
  return WIRE.test(entry && 'originalSource' in entry ? entry.originalSource : url)
}

/** The share of what threads do that goes into calls to AWS, from 0 to 1, in the next so many milliseconds. */
async function wireShare(ms: number): Promise<number> {
  const begun = await Promise.allSettled([...workers].map(worker => worker.startCpuProfile()))
  await setTimeout(ms)
  // a thread that ends meanwhile takes its profile with it
  const ended = await Promise.allSettled(
    begun.flatMap(one => (one.status === 'fulfilled' ? [one.value.stop()] : [])),
  )
  let [wire, all] = [0, 0]
  for (const profile of ended) {
    if (profile.status === 'rejected') continue
    const { nodes, samples, timeDeltas } = JSON.parse(profile.value) as Profile
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
    const wired = new Map(nodes.map(({ id, callFrame }) => [id, isWire(callFrame)]))
    for (const [index, id] of samples.entries()) {
      // nothing, work that cannot be told apart, and sweeping
      if (frames.get(id)?.functionName.startsWith('(')) continue
      const took = timeDeltas[index] ?? 0
      all += took
      if (wired.get(id)) wire += took
    }
  }
  return all === 0 ? 0 : wire / all
}

async function journaled(host: Host): Promise<void> {
  await askReplication(host, 'primary/enable', { primary_cluster_addr: host.link_address })
  for (let built = false; !built; await setTimeout(100)) {
    const { state, reindex_in_progress: building } = await drStatusOf(host)
    built = state === 'running' && building !== true
  }
}

/** Where a checkout has its host: older ones had it beside everything else of the machine. */
function moduleOfHost(directory: string): string {
  const places = ['infra/local/host/host.ts', 'infra/local/host.ts'].map(place => `${directory}${place}`)
  const found = places.find(place => existsSync(place))
  if (found === undefined) throw new Error(`there is no host in ${directory}`)
  return found
}

async function start({ directory, provider, instances, capacity }: ServeOrder) {
  process.chdir(directory)
  const { startHost } = (await import(moduleOfHost(directory))) as {
    startHost(options: HostOptions): Promise<Host>
  }
  const host = await startHost({
    cluster: 'bench',
    port: 0,
    memory: true,
    provider: () => awsAt(provider),
    capacity: { environments: availableParallelism(), ...capacity },
  })
  const { ec2, iam } = await makeWorld(host, instances)
  return { host, served: { url: `${host.base_url}/auth/cloud/login`, bodies: { ec2, iam } } satisfies Served }
}

let host: Host | undefined
/** What the parent may ask for. */
const methods = {
  start: async (order: ServeOrder): Promise<Served> => {
    const started = await start(order)
    host = started.host
    return started.served
  },
  cpu,
  wireShare,
  journaled: async () => host && journaled(host),
  close: async () => host?.close(),
}
export type Methods = typeof methods

process.on('message', ({ id, method, argument }: { id: number; method: keyof Methods; argument: never }) => {
  Promise.resolve(methods[method](argument)).then(
    result => process.send?.({ id, result }),
    (error: Error) => process.send?.({ id, error: error.stack }),
  )
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
