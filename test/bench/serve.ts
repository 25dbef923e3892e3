// A process of the bench: a host of some checkout, with a fleet that logs in to the host. The parent calls
// its methods by messages.

import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { connectToImitatedAws } from '../../infra/local/host/aws-process.ts'
import type { LocalHost, LocalHostOptions } from '../../infra/local/host/host.ts'
import { readDrStatus, requestReplication } from '../../infra/local/pair/dr-client.ts'
import type { ReachedProvider } from '../../infra/local/provider/note.ts'
import { childrenMs } from './children.ts'
import { type JwtWorld, makeJwtWorld } from './jwt-world.ts'
import { makeWorld } from './world.ts'

export interface ServeOrder {
  /** a checkout, with a final slash */
  directory: string
  /** address of the imitated AWS */
  provider: ReachedProvider
  instances: number
  options?: Partial<LocalHostOptions>
}

export interface Served {
  url: string
  bodies: Record<'ec2' | 'iam', string[]>
}

/**
 * Processor time so far, in milliseconds. `threads` is the time of functions; `helpers` is the time of
 * garbage collection and compilation.
 */
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
  // the processor time of a worker that has just ended is lost
  const none = { user: 0, system: 0 }
  const each = await Promise.all([...workers].map(worker => worker.cpuUsage().catch(() => none)))
  const threads = each.reduce((sum, one) => sum + milliseconds(one), 0)
  const main = milliseconds(process.threadCpuUsage())
  return { main, threads, helpers: milliseconds(process.cpuUsage()) - main - threads, engine: childrenMs() }
}

async function journaled(host: LocalHost): Promise<void> {
  await requestReplication(host, 'primary/enable', { primary_cluster_addr: host.link_address })
  for (let built = false; !built; await setTimeout(100)) {
    const { state, isBuilding: building } = await readDrStatus(host)
    built = state === 'running' && building !== true
  }
}

async function start({ directory, provider, instances, options }: ServeOrder) {
  process.chdir(directory)
  type Start = (options: LocalHostOptions) => Promise<LocalHost>
  // older checkouts export `startHost`
  const module = (await import(`${directory}infra/local/host/host.ts`)) as Record<string, Start>
  const host = await (module['startLocalHost'] ?? module['startHost'])?.({
    cluster: 'bench',
    port: 0,
    memory: true,
    provider: () => connectToImitatedAws(provider),
    capacity: { environments: availableParallelism() },
    ...options,
  })
  if (!host) throw new Error(`${directory} exports no function that starts a host`)
  const { ec2, iam } = await makeWorld(host, instances)
  return { host, served: { url: `${host.base_url}/auth/cloud/login`, bodies: { ec2, iam } } satisfies Served }
}

let host: LocalHost | undefined
/** The methods that the parent can call. */
const methods = {
  start: async (order: ServeOrder): Promise<Served> => {
    const started = await start(order)
    host = started.host
    return started.served
  },
  cpu,
  journaled: async () => host && journaled(host),
  jwtWorld: async (counts: Parameters<typeof makeJwtWorld>[1]): Promise<JwtWorld> => {
    if (!host) throw new Error('the host has not started')
    return makeJwtWorld(host, counts)
  },
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
