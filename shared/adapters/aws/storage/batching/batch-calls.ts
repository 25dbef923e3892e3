import { callAfterDelay } from '../../later.ts'

/** Running calls. A question that finds fewer is not delayed. */
const AT_ONCE = 2
/** Milliseconds for which a running call delays others. A call that hangs delays them no longer. */
const BATCH_PAUSE_MS = 200
/**
 * Milliseconds after which a caller stops to wait for a shared call: as long as one attempt of its own would take.
 */
const LONGEST_BATCH_PAUSE_MS = 3000

/** The event loop and its timers; tests replace them. */
export interface EventLoopTimers {
  /** calls `work` at the end of this turn of the event loop */
  soon?: (work: () => void) => void
  /**
   * calls `work` after some milliseconds.
   * @returns cancels it
   */
  later?: (ms: number, work: () => void) => () => void
}

interface BatchOptions<Q, A> extends EventLoopTimers {
  /** epoch milliseconds */
  now: () => number
  /**
   * makes one call for some questions.
   * @returns an answer for each, in their order
   */
  send: (questions: readonly Q[]) => Promise<readonly A[]>
  /** picks the questions that share a call with the first one, itself included */
  pick: <W extends { ask: Q }>(waiting: readonly W[]) => readonly W[]
}

/** A question that waits. */
interface Asked<Q, A> {
  ask: Q
  /** cancels its timer, because it has a call of its own, which may take its time */
  free: () => void
  /** passes on the result */
  end: (answer: A | 'alone') => void
  fail: (error: unknown) => void
}

/**
 * Asks with a call that is sent after the question, never with one that is already running.
 * @returns `alone`: the shared call failed, or took too long: the caller must make a call of its own
 * @throws the error of a call that was not shared
 */
type Ask<Q, A> = (question: Q) => Promise<A | 'alone'>

/**
 * Sends questions that wait at the same time as one call. Questions of one turn of the event loop are collected.
 * While two calls are running, the next ones wait.
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

  /** Reports whether a call delays others. The environment may have been frozen meanwhile, or its clock set back. */
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
    // Questions that follow from these answers join those that already wait.
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
