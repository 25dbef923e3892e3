import { newProcesses } from './processes.ts'
import { newTraps, type Process, type Spot, type Step, type Trap } from './traps.ts'
import { turns } from './turns.ts'

export interface SimulationOptions {
  /** epoch milliseconds */
  start: number
  /** see `turns` */
  random?: () => number
}

export type Simulation = ReturnType<typeof simulation>

/** Returns the error of a call that got no answer. The call may have taken effect. */
const noAnswer = (what: string): Error =>
  Object.assign(new Error(`no answer to ${what}`), { name: 'TimeoutError' })

/** @throws Crash where the process has died */
function checkAlive({ dead }: Process): void {
  if (dead) throw dead
}

interface World {
  time: ReturnType<typeof turns>
  traps: ReturnType<typeof newTraps>
  processes: ReturnType<typeof newProcesses>
}

/** Simulates processes with one clock. Each process may die, pause, or get no answer at any of its calls. */
export function simulation({ start, random }: SimulationOptions) {
  const world: World = { time: turns(start, random), traps: newTraps(), processes: newProcesses() }
  const { time, traps, processes } = world
  const { self } = processes
  const engine: Process = { id: -1, cluster: '', name: 'engine', frozenUntil: 0 }

  /** Waits for work, with a time limit. @throws when the work takes longer */
  async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
    const late = time.until(self(), time.now() + ms)
    try {
      return await Promise.race([work, late.then(() => Promise.reject(noAnswer(what)))])
    } finally {
      late.giveUp()
    }
  }

  const sleep = async (ms: number): Promise<void> => {
    const process = self()
    await time.until(process, time.now() + Math.max(0, ms))
    checkAlive(process)
  }

  const { run, start: begin, settled, kill } = processes
  return {
    run,
    settled,
    kill,
    within,
    self,
    start: begin,
    step: steps(world),
    freezeAt: freezing(world),
    trap: traps.set,
    clearTraps: traps.clear,
    clock: { now: time.now, sleep },
    pass: time.pass,
    during: time.during,
    /** waits for a moment between two steps of the engine, in which no process dies or pauses */
    engineTurn: () => time.turn(engine),
    /** advances the time that the engine takes */
    enginePause: (ms: number): Promise<void> => time.until(engine, time.now() + ms),
  }
}

/** Takes steps of the calling process. */
function steps({ time, traps, processes }: World) {
  /**
   * Applies the traps of a process before or after one of its steps.
   * @throws Crash, or the error of a lost answer
   */
  async function pass(step: Step, when: Spot['when'], met: readonly Trap[]): Promise<void> {
    const { process, what } = step
    const mine = met.filter(trap => trap.when === when)
    for (const { does, struck } of mine) {
      if (does === 'dies') processes.die(process, `${process.cluster} ${process.name}, ${when} ${what}`)
      if (typeof does === 'number') process.frozenUntil = time.now() + does
      struck?.(step)
    }
    if (process.frozenUntil > time.now()) await time.until(process, 0)
    checkAlive(process)
    if (mine.some(({ does }) => does === 'loses')) throw noAnswer(what)
  }

  return async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const process = processes.self()
    checkAlive(process)
    await time.turn(process)
    const step = { process, what }
    const met = traps.met(step)
    await pass(step, 'before', met)
    const outcome = await work().then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    await pass(step, 'after', met)
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }
}

/**
 * Pauses a process at a point until a test releases it. `reached` resolves when the process has come to the
 * point.
 */
const freezing =
  ({ time, traps }: World) =>
  (spot: Spot): { reached: Promise<Process>; thaw: () => void } => {
    let reach: (process: Process) => void
    const reached = new Promise<Process>(resolve => {
      reach = resolve
    })
    const struck = ({ process }: Step) => reach(process)
    const free = traps.set({ ...spot, does: Number.POSITIVE_INFINITY, struck })
    const thaw = () => {
      free()
      void reached.then(process => {
        process.frozenUntil = 0
        time.wake()
      })
    }
    return { reached, thaw }
  }
