import type { Item, Key, Kind, TreeMembership } from './kinds.ts'
import type { StoredDataByKind } from './stored.ts'

/**
 * The state of an item that a write expects: no item, any item, or the revision that was read. `orAbsent`: the
 * revision that was read, or no item.
 */
export type ExpectedItem = 'absent' | 'any' | { rev: string; inTree?: TreeMembership; orAbsent?: true }

/** Returns the expectation that an item has the revision that was read. */
const asRead = ({ rev, inTree }: Pick<Item, 'rev' | 'inTree'>): Exclude<ExpectedItem, string> => ({
  rev,
  ...(inTree ? { inTree } : {}),
})

/**
 * One element of a commit. All changes of a commit take effect together or not at all. No change only checks an
 * item: overlapping transactions cancel each other, and most commits would check the same few items.
 */
export type Change =
  | PutChange
  | { readonly kind: 'delete'; readonly key: Key; readonly expected: ExpectedItem }
  | { readonly kind: 'count'; readonly key: Key; readonly left: number; readonly expected: ExpectedItem }

export interface PutChange {
  readonly kind: 'put'
  readonly key: Key
  readonly data: StoredDataByKind[Kind]
  readonly expected: ExpectedItem
  readonly times: ItemTimes
}

/** Times of an item in epoch seconds, all optional. */
export interface ItemTimes {
  /** `expires`: an item of a kind with `expiry: 'dies'` counts as absent from this time on */
  expires?: number
  /** `due`: tidy may consider an item of a kind with `expiry: 'swept'` from this time on */
  due?: number
  /** DynamoDB may delete the item from this time on, long after it has stopped to count */
  ttl?: number
}

/** Stores an item that must not exist yet. */
export const createItem = <K extends Kind>(
  key: Key<K>,
  data: StoredDataByKind[K],
  times: ItemTimes = {},
): Change => ({
  kind: 'put',
  key,
  data,
  expected: 'absent',
  times,
})

/** Stores an item unconditionally. */
export const putItem = <K extends Kind>(key: Key<K>, data: StoredDataByKind[K]): Change => ({
  kind: 'put',
  key,
  data,
  expected: 'any',
  times: {},
})

/**
 * Replaces an item that is unchanged since it was read. If the item was absent when it was read, it must still be
 * absent.
 */
export const replaceItem = <K extends Kind>(
  key: Key<K>,
  read: Item<K> | undefined,
  data: StoredDataByKind[K],
  times: ItemTimes = {},
): Change => ({ kind: 'put', key, data, expected: read ? asRead(read) : 'absent', times })

/** Sets the counter of an item that is unchanged since it was read. The other data of the item stays unchanged. */
export const setItemCounter = (item: Item, left: number): Change => ({
  kind: 'count',
  key: item,
  left,
  expected: asRead(item),
})

/** Deletes an item unconditionally. */
export const removeItem = (key: Key): Change => ({ kind: 'delete', key, expected: 'any' })

/** Deletes an item that is unchanged since it was read. */
export const removeItemIfUnchanged = (item: Key & Pick<Item, 'rev' | 'inTree'>): Change => ({
  kind: 'delete',
  key: item,
  expected: asRead(item),
})

/** Deletes an item unless it has changed since it was read. An item that is already absent counts as deleted. */
export const removeItemUnlessChanged = (item: Key & Pick<Item, 'rev' | 'inTree'>): Change => ({
  kind: 'delete',
  key: item,
  expected: { ...asRead(item), orAbsent: true },
})
