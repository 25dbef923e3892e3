import { generationOf, ttlOf } from '../../../journal/generation.ts'
import type { Test } from '../../../journal/journal.ts'
import { type Leaf, leafInTree, leafOf } from '../../../journal/tree.ts'
import { type Change, keyOf } from '../../../storage/changes.ts'
import { type Item, type Kind, specOf } from '../../../storage/kinds.ts'
import { asStored, plainTtl, type StoredItem, toStored } from '../../../storage/requests.ts'

/** A change of one item, with all that the journal says of it. */
export interface Planned {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  /** what the tree holds of the item that is there */
  readonly prev: Leaf | null
  /** what will stand there, but for position, leaf and bucket; null: nothing */
  readonly next: StoredItem | null
  readonly if: Test
  /**
   * what is there was looked up here, or is assumed: if it proves different it is looked up again, and the caller sees
   * no conflict
   */
  readonly assumed: boolean
  /** only the counter changes, by an update of that attribute: some functions are granted no more */
  readonly counts: boolean
}

/** `look`: what is there has to be read first. `nothing`: there is nothing to be done. */
type Plan = Planned | 'look' | 'nothing' | 'conflict'

/** What was looked up; absent: nobody has looked yet. */
export type ItemSeen = { readonly item: StoredItem | undefined }

interface Era {
  readonly treeId: string
  /** of the commit */
  readonly rev: string
  /** epoch seconds */
  readonly now: number
}

/**
 * An item as it stands while a journal is kept: what dies is deleted by the engine when its generation has ended,
 * everything else never.
 */
function withGeneration(item: StoredItem, now: number): StoredItem {
  const { ttl: _ttl, pos: _pos, leaf: _leaf, bucket: _bucket, ...content } = item
  const generation = specOf(item.kind).expiry === 'dies' ? generationOf(item.expires, now) : null
  return generation === null ? content : { ...content, ttl: ttlOf(generation) }
}

/** The same where none is kept. */
export function unjournaled(item: StoredItem): StoredItem {
  const { ttl: _ttl, pos: _pos, leaf: _leaf, bucket: _bucket, ...content } = item
  const ttl = specOf(item.kind).expiry === 'dies' ? plainTtl(item.expires) : undefined
  return ttl === undefined ? content : { ...content, ttl }
}

const isDead = ({ kind, expires }: StoredItem, now: number): boolean =>
  specOf(kind).expiry === 'dies' && expires !== undefined && expires <= now

/** What a change comes to, given what was read before, or has been looked up since. */
export function planOf(change: Change, era: Era, seen: ItemSeen | undefined): Plan {
  const { kind, pk, sk } = keyOf(change)
  const { expected } = change
  const plan = (old: StoredItem | undefined, prev: Leaf | null, assumed: boolean): Plan => {
    const next = nextOf(change, old, era)
    if (next === null && !old) return 'nothing'
    return {
      kind,
      pk,
      sk,
      prev,
      next,
      if: old ? { rev: old.rev } : 'absent',
      assumed,
      counts: 'count' in change,
    }
  }
  const looked = (assumed: boolean): Plan => {
    const old = seen?.item
    return plan(old, old ? leafInTree(old, era.treeId) : null, assumed)
  }
  if (expected === 'any') return seen ? looked(true) : 'look'
  if (expected === 'absent') {
    const dies = specOf(kind).expiry === 'dies'
    if (!seen) return plan(undefined, null, dies)
    return seen.item && !isDead(seen.item, era.now) ? 'conflict' : looked(true)
  }
  const { inTree, rev, orAbsent = false } = expected
  if (seen) {
    const isFound = seen.item ? seen.item.rev === rev : orAbsent
    return isFound ? looked(false) : 'conflict'
  }
  const prev = inTree ? leafInTree(inTree, era.treeId) : null
  if (!inTree || !prev) return 'look'
  if (!('count' in change)) return plan({ kind, pk, sk, rev, data: null, ...inTree }, prev, orAbsent)
  const old = asStored(change.count as Item)
  // what was read may have been stored otherwise than it would be now
  return leafOf(old) === prev.leaf ? plan(old, prev, false) : 'look'
}

function nextOf(change: Change, old: StoredItem | undefined, { rev, now }: Era): StoredItem | null {
  if ('put' in change) return withGeneration(toStored(change, rev), now)
  if ('count' in change) return old ? withGeneration({ ...old, uses: change.left, rev }, now) : null
  return null
}

/** The plan of an item that was written while no journal was kept: it stays as it is, and gets a place in the tree. */
export const planOfBackfill = (item: StoredItem, { rev, now, treeId }: Era): Planned => ({
  kind: item.kind,
  pk: item.pk,
  sk: item.sk,
  prev: leafInTree(item, treeId),
  next: { ...withGeneration(item, now), rev },
  if: { rev: item.rev },
  assumed: false,
  counts: false,
})
