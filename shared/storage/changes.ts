import type { InTree, Item, Key, Kind } from './kinds.ts'
import type { Stored } from './stored.ts'

/** What a write expects to find: nothing, whatever is there, or the revision that was read; `orAbsent`: or nothing. */
export type Expected = 'absent' | 'any' | { rev: string; inTree?: InTree; orAbsent?: true }

/** What was read, as a write expects to find it again. */
const asRead = ({ rev, inTree }: Pick<Item, 'rev' | 'inTree'>): Exclude<Expected, string> => ({
  rev,
  ...(inTree ? { inTree } : {}),
})

/**
 * One element of a commit. All elements of a commit take effect together or not at all. There is none that only
 * checks: transactions that overlap on one item cancel each other, and what is checked is what many share.
 */
export type Change =
  | PutChange
  | { readonly kind: 'delete'; readonly key: Key; readonly expected: Expected }
  | { readonly kind: 'count'; readonly key: Key; readonly left: number; readonly expected: Expected }

export interface PutChange {
  readonly kind: 'put'
  readonly key: Key
  readonly data: Stored[Kind]
  readonly expected: Expected
  readonly times: Times
}

/** Epoch seconds, all optional. */
export interface Times {
  /** when an item that dies counts as absent */
  expires?: number
  /** when an item that is swept may be considered by tidy */
  due?: number
  /** when the engine itself may delete it, long after it stopped mattering */
  ttl?: number
}

/** Stores an item that must not exist yet. */
export const create = <K extends Kind>(key: Key<K>, data: Stored[K], times: Times = {}): Change => ({
  kind: 'put',
  key,
  data,
  expected: 'absent',
  times,
})

/** Stores an item, whether one is there or not. */
export const put = <K extends Kind>(key: Key<K>, data: Stored[K]): Change => ({
  kind: 'put',
  key,
  data,
  expected: 'any',
  times: {},
})

/** Replaces an item that must still be as it was read; an item never read must not exist. */
export const replace = <K extends Kind>(
  key: Key<K>,
  read: Item<K> | undefined,
  data: Stored[K],
  times: Times = {},
): Change => ({ kind: 'put', key, data, expected: read ? asRead(read) : 'absent', times })

/** Sets the counter of an item that must still be as it was read; everything else stays what it is. */
export const countDown = (item: Item, left: number): Change => ({
  kind: 'count',
  key: item,
  left,
  expected: asRead(item),
})

/** Deletes an item, whether it exists or not. */
export const remove = (key: Key): Change => ({ kind: 'delete', key, expected: 'any' })

/** Deletes an item that must still be as it was read. */
export const removeIfUnchanged = (item: Key & Pick<Item, 'rev' | 'inTree'>): Change => ({
  kind: 'delete',
  key: item,
  expected: asRead(item),
})

/** Deletes an item unless it has changed since it was read: that it is gone by now is as good. */
export const removeUnlessChanged = (item: Key & Pick<Item, 'rev' | 'inTree'>): Change => ({
  kind: 'delete',
  key: item,
  expected: { ...asRead(item), orAbsent: true },
})
