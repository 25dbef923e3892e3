import { callLater as afterwards } from '../../later.ts'

/** Calls under way at once. Who finds fewer waits for nobody. */
const AT_ONCE = 2
/** Milliseconds for which a call under way keeps others waiting; one that hangs keeps nobody longer. */
const PATIENCE_MS = 200
/** Milliseconds after which a request relies on strangers no more: what one attempt of its own would take. */
const LONGEST_MS = 3000

/** Time, as something other than the event loop and its timers may tell it. */
export interface Turns {
  /** does something when this turn of the event loop is over */
  soon?: (work: () => void) => void
  /** does something after some milliseconds. @returns gives it up */
  later?: (ms: number, work: () => void) => () => void
}

interface BatchOptions<Q, A> extends Turns {
  /** epoch milliseconds */
  now: () => number
  /** one call for some questions. @returns an answer for each, in their order */
  send: (questions: readonly Q[]) => Promise<readonly A[]>
  /** picks those that go in one call with the first of all that wait, it among them */
  pick: <W extends { ask: Q }>(waiting: readonly W[]) => readonly W[]
}

/** A question that waits. */
interface Asked<Q, A> {
  ask: Q
  /** frees it of its deadline: it has a call of its own, and may take its time */
  free: () => void
  /** tells what came of it */
  end: (answer: A | 'alone') => void
  fail: (error: unknown) => void
}

/**
 * Asks by a call that is sent after this was asked for, never by one that is under way already.
 * @returns `alone`: the call was shared and has failed, or has not come in time: to be asked again, for oneself alone
 * @throws what a call throws that nobody shared
 */
type Ask<Q, A> = (question: Q) => Promise<A | 'alone'>

/**
 * Questions that wait at the same time go out as one call. A turn of the event loop is gathered; while two calls are
 * under way the next ones wait.
 * @see docs/spec/storage.md#reads-that-wait-together
 */
export function batchCalls<Q, A>({
  send,
  pick,
  now,
  soon = setImmediate,
  later = afterwards,
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

  /** Whether a call keeps others waiting. An environment may have been frozen meanwhile, or its clock set back. */
  const keepsWaiting = ({ at }: { at: number }): boolean => {
    const age = now() - at
    return age >= 0 && age < PATIENCE_MS
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
    if (waiting.length > 0 && oldest) stopWaking = later(oldest.at + PATIENCE_MS - now(), go)
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
    // what those ask next who were waited for goes with what waits already
    if (waiting.length > 0) plan()
  }

  return ask =>
    new Promise((resolve, reject) => {
      const free = later(LONGEST_MS, () => {
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

export type BatchCalls = typeof batchCalls
