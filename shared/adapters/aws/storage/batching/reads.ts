import { itemKindSpec, type Kind } from '../../../../storage/kinds.ts'
import type { TableKey } from '../../../../storage/queries.ts'
import type { PlainItem } from '../../wire/values.ts'
import { type StorageEngine, tableKeyText } from '../engine.ts'
import { createCallBatcher, type EventLoopTimers } from './batch-calls.ts'

/** The maximum number of keys in one shared call. */
const MOST_SHARED = 50

/** How often a key is requested in shared calls while DynamoDB leaves it unprocessed. */
const SHARED_TRIES = 2

/** Returns items by `tableKeyText`. `kinds`: the kinds of the keys' items. */
export type ReadItems = (
  keys: readonly TableKey[],
  kinds: readonly Kind[],
) => Promise<ReadonlyMap<string, PlainItem>>

/**
 * Creates reads for an environment that handles several requests at once: reads that wait at the same time are sent
 * as one call. Reads are counted for each caller, as if each had made its own call. All callers of a shared read
 * get the same frozen items.
 */
export function createReadBatcher(
  { clock, meter, pause, get, getOnce }: Pick<StorageEngine, 'clock' | 'meter' | 'pause' | 'get' | 'getOnce'>,
  turns: EventLoopTimers = {},
): ReadItems {
  const ask = createCallBatcher<Wanted, Brought>({
    send: async all => {
      const keys = new Map(all.flatMap(one => [...one.keys]))
      const { found, left } = await getOnce([...keys.values()])
      const items = new Map(found.map(([name, item]) => [name, freezeDeeply(item)]))
      const brought = { found: items, left: new Set(left.map(tableKeyText)) }
      return all.map(() => brought)
    },
    pick: pickBatch,
    now: clock.now,
    ...turns,
  })

  return async (keys, kinds) => {
    const large = [...new Set(kinds.filter(kind => itemKindSpec(kind).large))]
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

/**
 * Keys by their names, at most `MOST_SHARED`; `large`: the only kind among them whose items may have hundreds of
 * kilobytes.
 */
interface Wanted {
  keys: ReadonlyMap<string, TableKey>
  large: string | undefined
}

/** The result of one batch read; `left`: names of keys that DynamoDB left unprocessed. */
interface Brought {
  found: ReadonlyMap<string, PlainItem>
  left: ReadonlySet<string>
}

/**
 * Returns as many of the waiting reads as fit into one call with the first read, in their order. A key that several
 * callers want is read once.
 */
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
  new Map(keys.map(key => [tableKeyText(key), key]))

/**
 * Freezes a value and everything in it.
 * @param value a JSON value
 */
function freezeDeeply<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) if (typeof part === 'object') freezeDeeply(part)
  return Object.freeze(value)
}
