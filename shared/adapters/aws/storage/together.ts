/** Calls under way at once. Who finds fewer waits for nobody. */
const AT_ONCE = 2
/** Milliseconds for which a call under way keeps others waiting; one that hangs keeps nobody longer. */
const PATIENCE_MS = 200
/** Keys of one call that several share. */
export const MOST_SHARED = 50
/** Milliseconds after which a read relies on strangers no more: what one attempt of its own would take. */
const LONGEST_MS = 3000

/** What one call has brought, by the names of its keys. */
export interface Brought<K, V> {
  found: ReadonlyMap<string, V>
  /** keys that the engine has left for another call */
  left: ReadonlyMap<string, K>
}

export interface Means<K, V> {
  /** one call */
  send: (keys: ReadonlyMap<string, K>) => Promise<Brought<K, V>>
  /** epoch milliseconds */
  now: () => number
  /** does something when this turn of the event loop is over */
  soon: (work: () => void) => void
  /** does something after some milliseconds. @returns gives it up */
  later: (ms: number, work: () => void) => () => void
}

/** A read that waits. */
interface Asked<K, V> {
  keys: ReadonlyMap<string, K>
  large: string | undefined
  /** it has a call of its own, and may take its time */
  goesAlone: () => void
  /** tells what came of it */
  end: (brought: Brought<K, V> | 'alone') => void
  fail: (error: unknown) => void
}

/**
 * Keys, at most `MOST_SHARED` of them, read by a call that is sent after this was asked for, never by one that is under
 * way already.
 * @param large the one kind among them of which an item may be hundreds of kilobytes
 * @returns `alone`: the call was shared and has failed, or has not come in time: to be asked again, for oneself alone
 * @throws what a call throws that nobody shared
 */
type Ask<K, V> = (keys: ReadonlyMap<string, K>, large?: string) => Promise<Brought<K, V> | 'alone'>

/**
 * Reads that wait at the same time go out as one call, in which a key that several want is read once. A turn of the
 * event loop is gathered; while two calls are under way the next ones wait.
 * @see docs/spec/storage.md#reads-that-wait-together
 */
export function readsTogether<K, V>({ send, now, soon, later }: Means<K, V>): Ask<K, V> {
  let waiting: Asked<K, V>[] = []
  let underWay: { since: number }[] = []
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
  const keepsWaiting = ({ since }: { since: number }): boolean => {
    const age = now() - since
    return age >= 0 && age < PATIENCE_MS
  }

  function go(): void {
    stopWaking()
    underWay = underWay.filter(keepsWaiting)
    while (waiting.length > 0 && underWay.length < AT_ONCE) {
      const batch = batchOf(waiting)
      waiting = waiting.filter(one => !batch.includes(one))
      void sendBatch(batch)
    }
    const [oldest] = underWay
    if (waiting.length > 0 && oldest) stopWaking = later(oldest.since + PATIENCE_MS - now(), go)
  }

  async function sendBatch(batch: readonly Asked<K, V>[]): Promise<void> {
    const call = { since: now() }
    underWay.push(call)
    const [first, ...others] = batch
    const only = others.length === 0 ? first : undefined
    only?.goesAlone()
    try {
      const brought = await send(only?.keys ?? new Map(batch.flatMap(({ keys }) => [...keys])))
      for (const { end } of batch) end(brought)
    } catch (error) {
      if (only) only.fail(error)
      else for (const { end } of batch) end('alone')
    }
    underWay = underWay.filter(one => one !== call)
    // what those ask next who were waited for goes with what waits already
    if (waiting.length > 0) plan()
  }

  return (keys, large) =>
    new Promise((resolve, reject) => {
      const late = later(LONGEST_MS, () => {
        waiting = waiting.filter(one => one !== mine)
        resolve('alone')
      })
      const mine: Asked<K, V> = {
        keys,
        large,
        goesAlone: late,
        end: brought => {
          late()
          resolve(brought)
        },
        fail: reject,
      }
      waiting.push(mine)
      plan()
    })
}

/** As many of those that wait as go with the first, in their order. */
function batchOf<K, V>(waiting: readonly Asked<K, V>[]): Asked<K, V>[] {
  const names = new Set<string>()
  let large: string | undefined
  return waiting.filter(one => {
    const more = [...one.keys.keys()].filter(name => !names.has(name))
    const fits = names.size + more.length <= MOST_SHARED
    if (!fits || (large !== undefined && one.large !== undefined && one.large !== large)) return false
    for (const name of more) names.add(name)
    large ??= one.large
    return true
  })
}
