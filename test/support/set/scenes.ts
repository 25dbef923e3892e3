import { expect } from 'vitest'
import { key } from '../../../shared/storage/kinds.ts'
import { invariants } from './checks/all.ts'
import { violationsIn } from './history.ts'
import type { Warm } from './play.ts'
import { type ClusterSet, clusterSet } from './set.ts'
import type { Spot } from './traps.ts'

/** The actions of a scene, and the checks after all of their consequences. */
export interface Scene {
  /** who dies, or stands still */
  who: Pick<Spot, 'cluster' | 'process' | 'step'>
  /** what comes before that */
  before?: (set: ClusterSet) => Promise<unknown>
  /** that does what no cluster ever does, so rules of the journal are broken */
  breaks?: boolean
  act: (set: ClusterSet) => Promise<unknown>
  /** what happens in the moment of the death, besides */
  struck?: (set: ClusterSet) => void
  holds: (set: ClusterSet) => Promise<void>
}

/** Minutes in which schedules find what a dead process has left. */
const MINUTES = 3

/**
 * Plays a scene again and again, always with the same clusters: a process dies before its first call, behind it, behind
 * the second, and so on until nobody is met any more.
 * @param every so many calls
 * @returns how many have died
 */
export async function deathsAtEachCall(from: Warm, scene: Scene, every = 1): Promise<number> {
  for (let [at, deaths] = [0, 0]; ; at += every) {
    const struck = await oneDeath(from, scene, at)
    if (!struck) return deaths
    deaths += 1
  }
}

/** @returns whether somebody has died */
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
  // who has died answers nobody
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

/** The same, of a process that stands still before one of its calls while others go on, and wakes a minute later. */
export interface LateScene extends Scene {
  who: Scene['who'] & { cluster: string }
  /** what others do while it stands still */
  meanwhile: (set: ClusterSet) => Promise<unknown>
}

/**
 * Plays a scene again and again, always with the same clusters: a process stands still before its first call, before the
 * second, and so on until nobody is met any more.
 * @param calls the first one, and how many from one to the next
 * @returns how many have stood still
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

/** @returns whether somebody has stood still */
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
    // an environment that stands still serves nobody: others have one of their own
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

/** Seconds in which another execution of a workflow has come to its end. */
const SCENE_TIMEOUT_SECONDS = 120

/** Has the operation that holds a cluster gone on with by another execution, until it holds it no more. */
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
