import { type Kind, specOf } from '../../../storage/kinds.ts'
import type { TableKey } from '../../../storage/queries.ts'
import { frozen } from '../../../values/frozen.ts'
import { later } from '../later.ts'
import { type Engine, nameOf } from './engine.ts'
import type { Raw } from './expressions.ts'
import { type Means, MOST_SHARED, readsTogether } from './together.ts'

/** How often a key is asked for together with others, while the engine leaves it for another call. */
const SHARED_TRIES = 2

/** Items by `nameOf`, of keys whose items are of some kinds. */
export type ReadItems = (
  keys: readonly TableKey[],
  kinds: readonly Kind[],
) => Promise<ReadonlyMap<string, Raw>>

/**
 * Reads for an environment that does several things at once: those that wait at the same time go out as one call. Calls
 * are counted where they were asked for, one for each that would have been made alone. What was read belongs to all
 * who asked, and is read-only.
 */
export function sharedReads(
  { clock, meter, pause, get, getOnce }: Pick<Engine, 'clock' | 'meter' | 'pause' | 'get' | 'getOnce'>,
  turns: Pick<Means<never, never>, 'soon' | 'later'> = eventLoop,
): ReadItems {
  const ask = readsTogether<TableKey, Raw>({
    send: async keys => {
      const { found, left } = await getOnce([...keys.values()])
      return { found: new Map(found.map(([name, item]) => [name, frozen(item)])), left: named(left) }
    },
    now: clock.now,
    ...turns,
  })

  return async (keys, kinds) => {
    const large = [...new Set(kinds.filter(kind => specOf(kind).large))]
    let wanted = named(keys)
    if (wanted.size === 0 || wanted.size > MOST_SHARED || large.length > 1) return get(keys)
    const all = new Map<string, Raw>()
    for (let tries = 0; tries < SHARED_TRIES; tries++) {
      if (tries > 0) await pause(tries)
      meter.count('dynamodb')
      const brought = await ask(wanted, large[0])
      if (brought === 'alone') break
      const { found, left } = brought
      for (const name of wanted.keys()) {
        const item = found.get(name)
        if (item) all.set(name, item)
      }
      if (left.size === 0) return all
      wanted = new Map([...wanted].filter(([name]) => left.has(name)))
      if (wanted.size === 0) return all
    }
    return new Map([...all, ...(await get([...wanted.values()]))])
  }
}

const eventLoop: Pick<Means<never, never>, 'soon' | 'later'> = { soon: setImmediate, later }

const named = (keys: readonly TableKey[]): ReadonlyMap<string, TableKey> =>
  new Map(keys.map(key => [nameOf(key), key]))
