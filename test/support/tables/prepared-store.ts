import type { Store } from '../../../shared/ports.ts'
import type { Change } from '../../../shared/storage/changes.ts'
import type { Item, Key, Kind, Stored } from '../../../shared/storage/kinds.ts'
import { type Encrypted, Secret } from '../../../shared/values/secret.ts'

const nameOf = ({ kind, pk, sk }: Key): string => JSON.stringify([kind, pk, sk])

/** An item under a key, as a store would have read it. */
export const item = <K extends Kind>(key: Key<K>, data: Stored[K], rev = 'r1'): Item<K> =>
  ({ ...key, rev, data }) as Item<K>

/** Prepared items; reads and commits are noted, nothing is ever written. */
export function preparedStore(items: readonly Item[], outcome: 'done' | 'conflict' = 'done') {
  const byName = new Map(items.map(one => [nameOf(one), one]))
  const reads: string[] = []
  const commits: (readonly Change[])[] = []
  const store: Pick<Store, 'read' | 'list' | 'commit'> = {
    read: async keys => {
      reads.push(keys.map(({ kind, sk }) => `${kind} ${sk}`).join(', '))
      return keys.map(key => byName.get(nameOf(key))) as never
    },
    list: async ({ kind, pks }) => items.filter(one => one.kind === kind && pks.includes(one.pk)) as never,
    commit: async changes => {
      commits.push(changes)
      return outcome
    },
  }
  return { store, reads, commits }
}

/** Encrypted texts that show what they are, and open only in the place they were encrypted for. */
export const plainCipher = {
  encrypt: async ({ kind, sk }: Key, field: string, text: string) => encrypted(kind, sk, field, text),
  decrypt: async ({ kind, sk }: Key, field: string, text: Encrypted) => {
    const place = encrypted(kind, sk, field, '')
    if (!text.startsWith(place)) throw new Error(`${text} was not encrypted for ${place}`)
    return new Secret(text.slice(place.length))
  },
}

export const encrypted = (kind: Kind, sk: string, field: string, text: string): Encrypted =>
  `${kind} ${sk} ${field}: ${text}` as Encrypted
