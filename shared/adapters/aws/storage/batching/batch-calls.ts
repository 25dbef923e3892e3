import { callAfterDelay } from '../../later.ts'

/** The running batch calls. A question that finds fewer is not delayed. */
const AT_ONCE = 2
/**
 * Milliseconds for which a running call delays other calls. After this time a hanging call no longer delays other
 * calls.
 */
const BATCH_PAUSE_MS = 200
/**
 * Milliseconds after which a caller stops waiting for a shared call: as long as one attempt of the caller's own
 * call would take.
 */
const LONGEST_BATCH_PAUSE_MS = 3000

/** The event loop and its timers; tests replace them. */
export interface EventLoopTimers {
  /** `soon` calls `work` at the end of this turn of the event loop */
  soon?: (work: () => void) => void
  /**
   * `later` calls `work` after some milliseconds.
   * @returns a function that cancels the timer
   */
  later?: (ms: number, work: () => void) => () => void
}

interface BatchOptions<Q, A> extends EventLoopTimers {
  /** epoch milliseconds */
  now: () => number
  /**
   * `send` makes one call for some questions.
   * @returns an answer for each question, in their order
   */
  send: (questions: readonly Q[]) => Promise<readonly A[]>
  /** `pick` picks the questions that share a call with the first question, including the first */
  pick: <W extends { ask: Q }>(waiting: readonly W[]) => readonly W[]
}

/** A question that waits for a call. */
interface Asked<Q, A> {
  ask: Q
  /** `free` cancels the question's timer, because the question has a call of its own, which may take longer */
  free: () => void
  /** `end` passes on the result */
  end: (answer: A | 'alone') => void
  fail: (error: unknown) => void
}

/**
 * Answers a question by a call that is sent after the question, never by a call that is already running.
 * @returns `alone`: the shared call failed, or took too long, so the caller must make a call of its own
 * @throws the error of a call that was not shared
 */
type Ask<Q, A> = (question: Q) => Promise<A | 'alone'>

/**
 * Sends questions that wait at the same time as one call. The batch collects the questions of one turn of the event
 * loop. While two calls are running, further calls wait.
 * @see docs/spec/storage.md#reads-that-wait-together
 */
export function createCallBatcher<Q, A>({
  send,
  pick,
  now,
  soon = setImmediate,
  later = callAfterDelay,
}: BatchOptions<Q, A>): Ask<Q, A> {
  let waiting: Asked<Q, A>[] = []
  let underWay: { at: number }[] = []
  let planned = false
  let stopWaking = () => {}

  function plan(): void {
    if (planned) return
    planned = true
    soon(() => {
      planned = false
      go()
    })
  }

  /**
   * Reports whether a running call delays other calls. The environment may have been frozen during the call, or its
   * clock set back.
   */
  const keepsWaiting = ({ at }: { at: number }): boolean => {
    const age = now() - at
    return age >= 0 && age < BATCH_PAUSE_MS
  }

  function go(): void {
    stopWaking()
    underWay = underWay.filter(keepsWaiting)
    while (waiting.length > 0 && underWay.length < AT_ONCE) {
      const batch = pick(waiting)
      waiting = waiting.filter(one => !batch.includes(one))
      void sendBatch(batch)
    }
    const [oldest] = underWay
    if (waiting.length > 0 && oldest) stopWaking = later(oldest.at + BATCH_PAUSE_MS - now(), go)
  }

  async function sendBatch(batch: readonly Asked<Q, A>[]): Promise<void> {
    const call = { at: now() }
    underWay.push(call)
    const only = batch[1] ? undefined : batch[0]
    only?.free()
    try {
      const answers = await send(batch.map(({ ask }) => ask))
      for (const one of batch) one.end(answers[batch.indexOf(one)] ?? 'alone')
    } catch (error) {
      if (only) only.fail(error)
      else for (const { end } of batch) end('alone')
    }
    underWay = underWay.filter(one => one !== call)
    // Questions that follow from these answers join the questions that already wait.
    if (waiting.length > 0) plan()
  }

  return ask =>
    new Promise((resolve, reject) => {
      const free = later(LONGEST_BATCH_PAUSE_MS, () => {
        waiting = waiting.filter(one => one !== mine)
        resolve('alone')
      })
      const mine: Asked<Q, A> = {
        ask,
        free,
        end: answer => {
          free()
          resolve(answer)
        },
        fail: reject,
      }
      waiting.push(mine)
      plan()
    })
}

export type CreateCallBatcher = typeof createCallBatcher
