import { setImmediate } from 'node:timers/promises'

/** An actor that waits for a time, or for its turn. */
export interface Actor {
  /** it pauses until this time, in epoch milliseconds */
  frozenUntil: number
}

interface Waiting {
  actor: Actor
  at: number
  go: () => void
}

/** Milliseconds that a step takes at most, where steps are taken one after the other. */
const STEP_MS = 8

/** The waiting processes and the time. */
interface Queue {
  now: number
  waiting: Waiting[]
  random: (() => number) | undefined
}

/** Picks the next actor among those whose time has come. If there is none, time advances to the next one. */
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
 * One clock for many actors, which passes only when all of them wait.
 * @param random chooses who goes on next, from 0 to below 1: then an order of all steps follows from these numbers
 * alone. Absent: everybody goes on at once, and only the clock is waited for.
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

  /**
   * Lets one process after the other continue when no process computes and no call to the engine is
   * open.
   */
  async function pump(): Promise<void> {
    for (;;) {
      // a computing process has finished its microtasks then
      await setImmediate()
      await setImmediate()
      const next = underWay > 0 ? undefined : nextIn(queue)
      if (!next) {
        // the end of a call starts this again
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
    /** time passes */
    pass: (ms: number) => {
      queue.now += ms
      wake()
    },
    /** waits for its turn, if there are turns */
    turn: (actor: Actor): Promise<void> => (random ? until(actor, 0) : Promise.resolve()),
    /** does work during which no time passes, and no other process continues when there are turns */
    during: async <T>(work: () => Promise<T>): Promise<T> => {
      underWay += 1
      try {
        // without turns a call still gives others time to continue
        if (!random) await setImmediate()
        return await work()
      } finally {
        underWay -= 1
        wake()
      }
    },
  }
}
