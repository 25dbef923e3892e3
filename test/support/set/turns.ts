import { setImmediate } from 'node:timers/promises'

/** An actor of the simulation, which waits for a time or for its turn. */
export interface Actor {
  /** the actor pauses until this time, in epoch milliseconds */
  frozenUntil: number
}

interface Waiting {
  actor: Actor
  at: number
  go: () => void
}

/** Maximum milliseconds of simulated time that a step takes when steps are taken one after the other. */
const STEP_MS = 8

/** The waiting actors and the simulated time. */
interface Queue {
  now: number
  waiting: Waiting[]
  random: (() => number) | undefined
}

/**
 * Picks the next actor among the actors whose time has come. If no actor's time has come, the clock advances
 * to the earliest time.
 */
function nextIn(queue: Queue): Waiting | undefined {
  const { waiting, random } = queue
  const moments = waiting.map(({ at, actor }) => Math.max(at, actor.frozenUntil))
  const first = Math.min(...moments)
  if (!Number.isFinite(first)) return undefined
  queue.now = Math.max(queue.now, first)
  const ready = waiting.filter((_, index) => (moments[index] ?? 0) <= queue.now)
  const next = ready[Math.floor((random?.() ?? 0) * ready.length)]
  if (random) queue.now += 1 + Math.floor(random() * STEP_MS)
  queue.waiting = waiting.filter(one => one !== next)
  return next
}

/**
 * Makes one clock for many actors, which advances only when all of them wait.
 * @param random returns numbers from 0 to below 1, which choose the next actor and so determine the order of
 * all steps. Absent: all actors continue at once, and only the clock makes them wait.
 */
export function turns(start: number, random?: () => number) {
  const queue: Queue = { now: start, waiting: [], random }
  let underWay = 0
  let pumping = false

  function wake(): void {
    if (pumping) return
    pumping = true
    void pump()
  }

  /** Lets one actor after the other continue when no actor computes and no call to the engine is open. */
  async function pump(): Promise<void> {
    for (;;) {
      // after this, a computing actor has finished its microtasks
      await setImmediate()
      await setImmediate()
      const next = underWay > 0 ? undefined : nextIn(queue)
      if (!next) {
        // the end of the call starts the pump again
        pumping = false
        return
      }
      next.go()
    }
  }

  /** Waits until a time, unless the wait is cancelled before. */
  function until(actor: Actor, at: number): Promise<void> & { giveUp: () => void } {
    // clocks have whole milliseconds, also for a wait of a fraction
    const mine: Waiting = { actor, at: Math.ceil(at), go: () => undefined }
    const moment = new Promise<void>(go => {
      mine.go = go
      queue.waiting.push(mine)
      wake()
    })
    const giveUp = () => {
      queue.waiting = queue.waiting.filter(one => one !== mine)
    }
    return Object.assign(moment, { giveUp })
  }

  return {
    wake,
    until,
    now: () => queue.now,
    /** advances the simulated time */
    pass: (ms: number) => {
      queue.now += ms
      wake()
    },
    /** waits for the actor's turn; without turns the actor continues at once */
    turn: (actor: Actor): Promise<void> => (random ? until(actor, 0) : Promise.resolve()),
    /** does work during which the clock does not advance; with turns no other actor continues */
    during: async <T>(work: () => Promise<T>): Promise<T> => {
      underWay += 1
      try {
        // without turns a call still lets other actors continue
        if (!random) await setImmediate()
        return await work()
      } finally {
        underWay -= 1
        wake()
      }
    },
  }
}
