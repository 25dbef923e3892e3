import { generationOfExpiry, ttlOfGeneration } from '../../shared/journal/generation.ts'
import type { EntryChange, JournalEntry } from '../../shared/journal/journal-entry.ts'
import { type Epoch, positionText } from '../../shared/journal/position.ts'
import { computeItemLeaf, readStoredLeaf, treeBucketOf, treeBucketText } from '../../shared/journal/tree.ts'
import type { Kind } from '../../shared/storage/kinds.ts'
import type { StoredItem } from '../../shared/storage/requests.ts'

const EPOCH: Epoch = '000001.aaaaaaaaaaaa'
export const TREE_ID = 'life'

/** The kind and name of an item. Policies never expire, tokens do. */
export interface Place {
  kind: Kind
  pk: string
  sk: string
}

export const policyAt = (name: string): Place => ({ kind: 'policy', pk: 'policy', sk: name })
export const tokenAt = (accessor: string): Place => ({ kind: 'token', pk: `token#${accessor}`, sk: 'token' })

export const nameOf = ({ pk, sk }: Pick<Place, 'pk' | 'sk'>): string => `${pk}\n${sk}`

/** Two policies in the same bucket, and one policy in another bucket. */
export const neighbours = ((): { a: Place; b: Place; apart: Place } => {
  const seen = new Map<string, Place>()
  for (let index = 0; ; index++) {
    const b = policyAt(`p${index}`)
    const place = treeBucketText(treeBucketOf(TREE_ID, b.kind, b.pk, b.sk))
    const a = seen.get(place)
    if (a) return { a, b, apart: [...seen.values()].find(one => one !== a) ?? a }
    seen.set(place, b)
  }
})()

/**
 * A change of an item by a commit: a new value (with its expiry in epoch seconds), or the deletion of the
 * item.
 */
export type Doing = readonly [place: Place, value: string | null, expires?: number]

/** Imitates a cluster that commits and keeps its journal. */
export function writer(epoch: Epoch = EPOCH, start = 1, items = new Map<string, StoredItem>()) {
  const entries: JournalEntry[] = []
  /** @param at epoch milliseconds */
  const commit = (at: number, ...doings: Doing[]): JournalEntry => {
    const seq = start + entries.length
    const pos = positionText({ epoch, seq })
    const body = doings.map(([place, value, expires]): EntryChange => {
      const own = items.get(nameOf(place))
      const item = value === null ? null : stored(place, value, pos, at, expires)
      if (item) items.set(nameOf(place), item)
      else items.delete(nameOf(place))
      return { ...place, prev: own ? readStoredLeaf(own) : null, next: item && readStoredLeaf(item), item }
    })
    const entry: JournalEntry = { epoch, seq, id: `commit ${epoch} ${seq}`, at, body }
    entries.push(entry)
    return entry
  }
  return { commit, entries, items }
}

function stored(place: Place, value: string, pos: string, at: number, expires?: number): StoredItem {
  const gen = generationOfExpiry(expires, Math.floor(at / 1000))
  const item: StoredItem = {
    pk: place.pk,
    sk: place.sk,
    kind: place.kind,
    rev: `${value} of ${pos}`,
    data: { value },
    pos,
    ...(expires === undefined ? {} : { expires }),
    ...(gen === null || expires === undefined ? {} : { ttl: ttlOfGeneration(gen) }),
  }
  return { ...item, leaf: computeItemLeaf(item) }
}
