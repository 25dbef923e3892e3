import { type Kind, specOf } from '../../../../storage/kinds.ts'
import type { TableKey } from '../../../../storage/queries.ts'
import type { PlainItem } from '../../wire/values.ts'
import { type Engine, nameOf } from '../engine.ts'
import { batchCalls, type Turns } from './batch-calls.ts'

/** Keys of one call that several share. */
const MOST_SHARED = 50

/** How often a key is asked for together with others, while the engine leaves it for another call. */
const SHARED_TRIES = 2

/** Items by `nameOf`, of keys whose items are of some kinds. */
export type ReadItems = (
  keys: readonly TableKey[],
  kinds: readonly Kind[],
) => Promise<ReadonlyMap<string, PlainItem>>

/**
 * Reads for an environment that does several things at once: those that wait at the same time go out as one call. Calls
 * are counted where they were asked for, one for each that would have been made alone. What was read belongs to all
 * who asked, and is read-only.
 */
export function batchReads(
  { clock, meter, pause, get, getOnce }: Pick<Engine, 'clock' | 'meter' | 'pause' | 'get' | 'getOnce'>,
  turns: Turns = {},
): ReadItems {
  const ask = batchCalls<Wanted, Brought>({
    send: async all => {
      const keys = new Map(all.flatMap(one => [...one.keys]))
      const { found, left } = await getOnce([...keys.values()])
      const items = new Map(found.map(([name, item]) => [name, freezeDeeply(item)]))
      const brought = { found: items, left: new Set(left.map(nameOf)) }
      return all.map(() => brought)
    },
    pick: pickBatch,
    now: clock.now,
    ...turns,
  })

  return async (keys, kinds) => {
    const large = [...new Set(kinds.filter(kind => specOf(kind).large))]
    let wanted = keysByName(keys)
    if (wanted.size === 0 || wanted.size > MOST_SHARED || large.length > 1) return get(keys)
    const all = new Map<string, PlainItem>()
    for (let tries = 0; tries < SHARED_TRIES; tries++) {
      if (tries > 0) await pause(tries)
      meter.count('dynamodb')
      const brought = await ask({ keys: wanted, large: large[0] })
      if (brought === 'alone') break
      const { found, left } = brought
      for (const name of wanted.keys()) {
        const item = found.get(name)
        if (item) all.set(name, item)
      }
      wanted = new Map([...wanted].filter(([name]) => left.has(name)))
      if (wanted.size === 0) return all
    }
    return new Map([...all, ...(await get([...wanted.values()]))])
  }
}

/** Keys by their names, at most `MOST_SHARED` of them; `large`: the one kind among theirs that may be hundreds of kilobytes. */
interface Wanted {
  keys: ReadonlyMap<string, TableKey>
  large: string | undefined
}

/** What one call has brought; `left`: names of keys that the engine has left for another call. */
interface Brought {
  found: ReadonlyMap<string, PlainItem>
  left: ReadonlySet<string>
}

/** As many of those that wait as go with the first, in their order. A key that several want is read once. */
function pickBatch<W extends { ask: Wanted }>(waiting: readonly W[]): W[] {
  const names = new Set<string>()
  let large: string | undefined
  return waiting.filter(({ ask: one }) => {
    const more = [...one.keys.keys()].filter(name => !names.has(name))
    const fits = names.size + more.length <= MOST_SHARED
    if (!fits || (large !== undefined && one.large !== undefined && one.large !== large)) return false
    for (const name of more) names.add(name)
    large ??= one.large
    return true
  })
}

const keysByName = (keys: readonly TableKey[]): ReadonlyMap<string, TableKey> =>
  new Map(keys.map(key => [nameOf(key), key]))

/** The same value, of which nothing can be changed any more. @param value what JSON can say */
function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) if (typeof part === 'object') freezeDeeply(part)
  return Object.freeze(value)
}
