import { randomBytes, randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { clientOf, createTables } from '../../infra/local/engine.ts'
import type { Entropy } from '../../shared/ports.ts'
import type { Tables } from '../../shared/storage/requests.ts'
import { everythingIn } from './everything.ts'
import { type SetMember, setMember } from './set/member.ts'
import { network } from './set/network.ts'
import { type SimulationOptions, simulation } from './set/simulation.ts'
import { type TransportOptions, tableTransport } from './set/transport.ts'

export interface SetOptions extends Partial<SimulationOptions>, TransportOptions {
  entropy?: Entropy
}

export type ClusterSet = Awaited<ReturnType<typeof clusterSet>>

const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
/** Rounds after which clusters that have not come to rest never will. */
const ROUNDS = 40

/**
 * Clusters in this process, each with tables of its own on the shared engine, initialised and in no set yet. Requests,
 * workers, workflows and the link are the real ones; they share one clock, which passes when all of them wait. Calls to
 * tables and of the link are steps, at each of which a process may die, stand still, or get no answer (`trap`).
 */
export async function clusterSet(names: readonly string[], options: SetOptions = {}) {
  const { start = Date.now(), random, entropy = { bytes: randomBytes, uuid: randomUUID }, ...more } = options
  const { engine, model } = inject('ground')
  const world = simulation({ start, ...(random ? { random } : {}) })
  const transport = tableTransport(engine, world, more)
  const net = network(world)
  const members = await Promise.all(
    names.map(async name =>
      setMember({ name, tables: await newTables(), model, simulation: world, transport, net, entropy }),
    ),
  )
  await Promise.all(members.map(initialised))
  const at = (name: string): SetMember => {
    const found = members.find(one => one.name === name)
    if (!found) throw new Error(`there is no cluster ${name}`)
    return found
  }
  const { settled, pass, trap, freezeAt, kill, clock } = world
  return {
    ...{ members, at, clock, net, pass, trap, freezeAt, kill, settled },
    ...roles(at, settled),
    tick: (how?: Parameters<SetMember['minute']>[0]) => tick(members, how),
    /** ticks until every secondary that is reached has all that its primary has. @throws when that never comes */
    converge: async (...which: string[]): Promise<void> => {
      const wanted = which.length > 0 ? which.map(at) : members
      for (let rounds = 0; ; rounds++) {
        await settled()
        await tick(members)
        const even = await Promise.all(wanted.map(one => isEven(one, members)))
        if (even.every(Boolean)) return
        const behind = wanted.filter((_, index) => !even[index]).map(one => one.name)
        if (rounds === ROUNDS) throw new Error(`never comes to rest: ${behind}`)
        // what dead processes have leased
        if (rounds > 2) pass(30_000)
      }
    },
    /** nothing goes through between two clusters; `there`: nothing from the first to the second */
    cut: (a: string, b: string, way: 'both' | 'there' = 'both'): void => {
      net.cutWay(a, b)
      if (way === 'both') net.cutWay(b, a)
    },
    heal: (a: string, b: string): void => {
      net.healWay(a, b)
      net.healWay(b, a)
    },
    /** what a cluster has: items, sums as they are kept, and as they should be */
    everything: async (name: string) => {
      const { life = '' } = await at(name).record()
      return everythingIn(at(name).ports.journal, life, clock.now())
    },
  }
}

/** Requests that change roles, with all that follows in the background. */
const roles = (at: (name: string) => SetMember, settled: () => Promise<void>) => ({
  /** makes a cluster the primary of a set of its own; its journal is built when this ends */
  enable: async (name: string): Promise<void> => {
    await at(name).ok('POST', '/sys/replication/dr/primary/enable', {})
    await settled()
  },
  /** makes a cluster a secondary of another; it has all of it when this ends, and the other's root token */
  join: async (name: string, primary: string, id: string = name): Promise<void> => {
    const { body } = await at(primary).ok('POST', '/sys/replication/dr/primary/secondary-token', { id })
    await at(name).ok('POST', '/sys/replication/dr/secondary/enable', { token: body.wrap_info.token })
    await settled()
    at(name).useToken(at(primary).token())
  },
})

/** Tables of a cluster, empty. Nothing deletes by itself what has expired. */
async function newTables(): Promise<Tables> {
  const { engine, model } = inject('ground')
  const suffix = randomUUID()
  const tables = model.tables.map(({ ttl: _, ...table }) => ({ ...table, name: `${table.name}-${suffix}` }))
  await createTables(clientOf(engine, 'us-east-1', credentials), tables)
  const nameOf = (word: string) => tables.find(({ name }) => name.toLowerCase().includes(word))?.name ?? ''
  return { data: nameOf('data'), cluster: nameOf('cluster'), ceremony: nameOf('ceremony') }
}

async function initialised(member: SetMember): Promise<void> {
  const { body } = await member.ok('PUT', '/sys/init', {})
  member.useToken(body.root_token)
}

/** What schedules start every minute, everywhere, one run each. One that dies is like one that never was. */
async function tick(members: readonly SetMember[], how = {}): Promise<void> {
  const quietly = (work: Promise<unknown>) => work.catch(() => undefined)
  await Promise.all(members.map(one => quietly(one.minute(how))))
  await Promise.all(members.map(one => quietly(one.pull())))
}

/** Whether a secondary has all that its primary has; other clusters have nothing to catch up with. */
async function isEven(member: SetMember, members: readonly SetMember[]): Promise<boolean> {
  const { mode, link, set } = await member.record()
  if (mode !== 'secondary' || !link) return true
  const own = await member.head()
  const primaries = await Promise.all(
    members.map(async one => {
      const record = await one.record()
      return record.mode === 'primary' && record.set === set ? one.head() : undefined
    }),
  )
  const even = primaries.some(head => head?.epoch === own.epoch && head.seq === own.seq)
  return even && own.mode === 'applying' && own.done === own.seq && own.until === 0 && own.dirty === null
}
