import { randomBytes, randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import type { Journal } from '../../../shared/journal/journal.ts'
import type { Entropy } from '../../../shared/ports.ts'
import { everythingIn } from '../tables/everything.ts'
import { engineGround, type Ground, memoryGround } from './grounds.ts'
import { type SetMember, setMember } from './member.ts'
import { network } from './network.ts'
import { ownKms } from './own-kms.ts'
import { recorder } from './recorder.ts'
import { type Simulation, type SimulationOptions, simulation } from './simulation.ts'
import type { SetSnapshot } from './snapshot.ts'
import { type TransportOptions, tableTransport } from './transport.ts'

export interface SetOptions extends Partial<SimulationOptions>, Pick<TransportOptions, 'aws' | 'onCall'> {
  entropy?: Entropy
  /** tables in memory instead of the real engine's; the default unless `ENGINE=real` */
  memory?: boolean
  /** breaks the journal of every cluster in a way that the checks must notice */
  broken?: (journal: Journal) => Journal
  /** the version that a cluster runs; absent: the present version */
  madeBy?: (name: string) => typeof setMember | undefined
  /** clusters that the set restores instead of making new clusters */
  from?: SetSnapshot
}

export type ClusterSet = Awaited<ReturnType<typeof clusterSet>>

/** Number of ticks after which clusters that are not at rest will never come to rest. */
const ROUNDS = 40

/**
 * Starts clusters in this process, each with tables of its own on the shared engine, initialised and not yet
 * in a DR set. Requests, workers, workflows and the link are the real code. All clusters share one clock,
 * which advances only when all processes wait. Calls to tables and calls of the link are steps. At each step
 * a process may die, pause, or get no answer (`trap`).
 */
export async function clusterSet(names: readonly string[], options: SetOptions = {}) {
  const { from, start = from?.at ?? Date.now(), random, aws = false } = options
  const world = simulation({ start, ...(random ? { random } : {}) })
  const recording = recorder(world)
  const ground = (options.memory ?? process.env['ENGINE'] !== 'real') ? memoryGround() : engineGround()
  const transport = tableTransport(world, {
    engine: ground.engine,
    aws,
    onWrite: recording.wrote,
    ...(options.onCall ? { onCall: options.onCall } : {}),
  })
  const net = network(world)
  const { members, at } = await membersOf(names, options, {
    simulation: world,
    transport,
    net,
    recording,
    ground,
  })
  if (!from) await Promise.all(members.map(initialised))
  const { settled, pass, trap, freezeAt, kill, clock } = world
  return {
    members,
    at,
    clock,
    net,
    pass,
    trap,
    freezeAt,
    kill,
    settled,
    recording,
    stall: transport.stall,
    /** runs background work; only `settled` waits for it */
    start: world.start,
    ...roles(at, settled),
    ...wires(net),
    ...rest(members, world),
    fillDisk: transport.fillDisk,
    /** repairs all links, clocks and disks, and ends deaths and pauses */
    mend: (): void => {
      net.healAll()
      world.clearTraps()
      transport.makeRoom()
      for (const one of members) one.setClock(0)
    },
    /** a snapshot that can be restored */
    snapshot: async (): Promise<SetSnapshot> => ({
      at: clock.now(),
      members: await Promise.all(
        members.map(async ({ name, tables, kms, token, shares }) => ({
          name,
          kms,
          shares,
          token: token(),
          items: await ground.items(tables),
        })),
      ),
    }),
    /** drops the tables of the clusters */
    drop: () => ground.drop(members.map(({ tables }) => tables)),
    /** contents of a cluster: items, stored sums, and computed sums */
    everything: async (name: string) => {
      const { treeId = '' } = await at(name).record()
      return everythingIn(at(name).ports.journal, treeId, clock.now())
    },
  }
}

interface Surroundings {
  simulation: Simulation
  transport: ReturnType<typeof tableTransport>
  net: ReturnType<typeof network>
  recording: ReturnType<typeof recorder>
  ground: Ground
}

/** Makes new clusters, or restores the clusters of a snapshot. */
async function membersOf(
  names: readonly string[],
  {
    from,
    entropy = { bytes: randomBytes, uuid: randomUUID },
    broken = same => same,
    madeBy = () => undefined,
  }: SetOptions,
  { recording, ground, ...around }: Surroundings,
): Promise<{ members: SetMember[]; at: (name: string) => SetMember }> {
  const { model } = inject('ground')
  const newMember = async (name: string): Promise<SetMember> => {
    const known = from?.members.find(one => one.name === name)
    const tables = await ground.newTables(known?.items)
    recording.watch(name, tables, known?.items)
    const { kms = ownKms(), token = '' } = known ?? {}
    const one = (madeBy(name) ?? setMember)({
      ...around,
      name,
      tables,
      model,
      entropy,
      kms,
      answered: recording.answered,
    })
    one.ports.journal = broken(one.ports.journal)
    one.useToken(token)
    one.shares.push(...(known?.shares ?? []))
    return one
  }
  const members = await Promise.all(names.map(newMember))
  const at = (name: string): SetMember => {
    const found = members.find(one => one.name === name)
    if (!found) throw new Error(`there is no cluster ${name}`)
    return found
  }
  return { members, at }
}

/** The network between the clusters. */
const wires = (net: ReturnType<typeof network>) => ({
  /** cuts two clusters off from each other; `there`: only from the first to the second */
  cut: (a: string, b: string, way: 'both' | 'there' = 'both'): void => {
    net.cutWay(a, b)
    if (way === 'both') net.cutWay(b, a)
  },
  heal: (a: string, b: string): void => {
    net.healWay(a, b)
    net.healWay(b, a)
  },
})

/** Brings clusters to rest. */
const rest = (members: readonly SetMember[], { settled, pass }: Pick<Simulation, 'settled' | 'pass'>) => ({
  /** reports whether a secondary has all entries of its primary */
  isEven: (name: string) => isEven(members.find(one => one.name === name) as SetMember, members),
  tick: (how?: Parameters<SetMember['minute']>[0]) => tick(members, how),
  /**
   * advances the time while followers send heartbeats, because followers detect a silent primary by
   * unanswered heartbeats and not by the clock alone
   */
  passAsking: async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= ASKED_EACH_MS) {
      pass(Math.min(left, ASKED_EACH_MS))
      await Promise.all(members.map(one => one.pull().catch(() => undefined)))
    }
  },
  /**
   * ticks until every reachable secondary has all entries of its primary @throws when a secondary never gets
   * all entries
   */
  converge: async (...names: string[]): Promise<void> => {
    const wanted = members.filter(({ name }) => names.length === 0 || names.includes(name))
    for (let rounds = 0; ; rounds++) {
      await settled()
      await tick(members)
      // the background work of a tick writes entries, too
      await settled()
      const even = await Promise.all(wanted.map(one => isEven(one, members)))
      if (even.every(Boolean)) return
      const behind = wanted.filter((_, index) => !even[index]).map(({ name }) => name)
      if (rounds === ROUNDS) throw new Error(`never comes to rest: ${behind}`)
      // the leases of dead processes must end
      if (rounds > 2) pass(30_000)
    }
  },
})

/** Sends requests that change roles, and waits for all their background work. */
const roles = (at: (name: string) => SetMember, settled: () => Promise<void>) => ({
  /** makes a cluster the primary of its own set; waits until the journal is built */
  enable: async (name: string): Promise<void> => {
    await at(name).ok('POST', '/sys/replication/dr/primary/enable', {})
    await settled()
  },
  /**
   * makes a cluster a secondary of another cluster; waits until it has all entries, and accepts the primary's
   * root token
   */
  join: async (name: string, primary: string, id: string = name): Promise<void> => {
    const { body } = await at(primary).ok('POST', '/sys/replication/dr/primary/secondary-token', { id })
    await at(name).ok('POST', '/sys/replication/dr/secondary/enable', { token: body.wrap_info.token })
    await settled()
    at(name).useToken(at(primary).token())
  },
})

async function initialised(member: SetMember): Promise<void> {
  const { body } = await member.ok('PUT', '/sys/init', {})
  member.useToken(body.root_token)
  member.shares.push(...body.recovery_keys)
}

/**
 * Runs the work that schedules start each minute, once on each cluster. A run that dies counts as not
 * started.
 */
async function tick(members: readonly SetMember[], how = {}): Promise<void> {
  const quietly = (work: Promise<unknown>) => work.catch(() => undefined)
  await Promise.all(members.map(one => quietly(one.minute(how))))
  await Promise.all(members.map(one => quietly(one.pull())))
}

/** The interval of heartbeats, in milliseconds. */
const ASKED_EACH_MS = 10_000

/**
 * Reports whether a secondary has all entries of its primary. Returns true for a cluster that is not a
 * secondary.
 */
async function isEven(member: SetMember, members: readonly SetMember[]): Promise<boolean> {
  const { mode, link, set } = await member.record()
  if (mode === 'primary' || !link) return true
  const own = await member.head()
  const primaries = await Promise.all(
    members.map(async one => {
      const record = await one.record()
      return record.mode === 'primary' && record.set === set ? one.head() : undefined
    }),
  )
  const even = primaries.some(head => head?.epoch === own.epoch && head.last === own.last)
  return (
    even &&
    own.mode === 'applying' &&
    own.applied === own.last &&
    own.replayUntil === 0 &&
    own.unfinishedSync === null
  )
}
