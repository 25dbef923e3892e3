import { expect } from 'vitest'
import { key } from '../../../shared/storage/kinds.ts'
import { invariants } from './checks/all.ts'
import { violationsIn } from './history.ts'
import type { Warm } from './play.ts'
import { type ClusterSet, clusterSet } from './set.ts'
import type { Spot } from './traps.ts'

/** The actions of a scene, and the checks after their consequences. */
export interface Scene {
  /** the process that dies or pauses */
  who: Pick<Spot, 'cluster' | 'process' | 'step'>
  /** actions before the scene */
  before?: (set: ClusterSet) => Promise<unknown>
  /** true when the scene does something that no cluster does, so that rules of the journal are broken */
  breaks?: boolean
  act: (set: ClusterSet) => Promise<unknown>
  /** other actions at the moment when the process dies */
  struck?: (set: ClusterSet) => void
  holds: (set: ClusterSet) => Promise<void>
}

/** Minutes in which schedules find the unfinished work of a dead process. */
const MINUTES = 3

/**
 * Plays a scene again and again, always with the same clusters. A process dies before its first call, after
 * the first, after the second, and so on until a run has fewer calls.
 * @param every number of calls between two tested calls
 * @returns the number of processes that have died
 */
export async function deathsAtEachCall(from: Warm, scene: Scene, every = 1): Promise<number> {
  for (let [at, deaths] = [0, 0]; ; at += every) {
    const struck = await oneDeath(from, scene, at)
    if (!struck) return deaths
    deaths += 1
  }
}

/** @returns whether the process has died */
async function oneDeath(
  from: Warm,
  { who, before, breaks = false, act, holds, ...also }: Scene,
  at: number,
): Promise<boolean> {
  const names = from.members.map(({ name }) => name)
  const set = await clusterSet(names, { from, memory: true, aws: true })
  await before?.(set)
  let dead = ''
  const spot = { at: Math.max(at, 1), when: at === 0 ? 'before' : 'after' } as const
  const struck = ({ what }: { what: string }): void => {
    dead = what
    also.struck?.(set)
  }
  const free = set.trap({ ...who, ...spot, does: 'dies', struck })
  // a dead process answers no client
  await act(set).catch((error: unknown) => {
    if (dead === '') throw error
  })
  for (let minutes = 0; minutes < MINUTES; minutes++) {
    await set.settled()
    set.pass(60_000)
    await set.tick()
  }
  await set.settled()
  free()
  try {
    await holds(set)
    if (!breaks) expect(violationsIn(set.recording.history, invariants)).toEqual([])
  } catch (error) {
    throw new Error(`death ${spot.when} call ${spot.at}, ${dead}: ${String(error)}`, { cause: error })
  }
  return dead !== ''
}

/** A scene in which a process pauses before one of its calls, and continues a minute later. */
export interface LateScene extends Scene {
  who: Scene['who'] & { cluster: string }
  /** the actions of other processes during the pause */
  meanwhile: (set: ClusterSet) => Promise<unknown>
}

/**
 * Plays a scene again and again, always with the same clusters. A process pauses before its first call,
 * before the second, and so on until a run has fewer calls.
 * @param calls the number of the first tested call, and the step from one tested call to the next
 * @returns the number of processes that have paused
 */
export async function lateAtEachCall(
  from: Warm,
  scene: LateScene,
  { first, every } = { first: 1, every: 1 },
): Promise<number> {
  for (let [at, late] = [first, 0]; ; at += every) {
    if (!(await oneLate(from, scene, at))) return late
    late += 1
  }
}

/** @returns whether the process has paused */
async function oneLate(
  from: Warm,
  { who, before, act, meanwhile, holds }: LateScene,
  at: number,
): Promise<boolean> {
  const names = from.members.map(({ name }) => name)
  const set = await clusterSet(names, { from, memory: true, aws: true })
  await before?.(set)
  const { reached, thaw } = set.freezeAt({ ...who, at, when: 'before' })
  const acted = act(set)
  const met = await Promise.race([
    reached.then(() => true),
    acted.then(() => set.settled()).then(() => false),
  ])
  if (!met) return false
  try {
    // a paused environment serves no requests; other requests have environments of their own
    set.at(who.cluster).newMemory()
    await meanwhile(set)
    set.pass(60_000)
    thaw()
    await acted
    await set.settled()
    await holds(set)
    expect(violationsIn(set.recording.history, invariants)).toEqual([])
  } catch (error) {
    throw new Error(`late at call ${at}: ${String(error)}`, { cause: error })
  }
  return true
}

/** Seconds until the retry that continues a workflow has ended. */
const SCENE_TIMEOUT_SECONDS = 120

/**
 * Continues the operation that locks a cluster with further executions of its workflow, until the operation
 * releases the cluster.
 */
export async function goneOnWith(set: ClusterSet, name: string): Promise<void> {
  const { record, workflow, ports, newMemory } = set.at(name)
  newMemory()
  const { operation: id } = await record()
  if (id === undefined) return
  const [operation] = await ports.store.read([key('operation', id)])
  await workflow(operation?.data.name ?? '', id, 1)
  for (let seconds = 0; (await record()).operation === id; seconds++) {
    if (seconds === SCENE_TIMEOUT_SECONDS)
      throw new Error(`${name}: nobody goes on with ${operation?.data.name}`)
    await set.clock.sleep(1000)
  }
}
