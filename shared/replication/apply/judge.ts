import { ttlOf } from '../../journal/generation.ts'
import { type Place, placeText } from '../../journal/journal.ts'
import type { EntryChange } from '../../journal/journal-entry.ts'
import { markText } from '../../journal/position.ts'
import {
  type Bucket,
  computeDeltas,
  type Delta,
  type LeafChange,
  placeInTree,
  storedLeafInTree,
} from '../../journal/tree.ts'
import { specOf } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'

/** A change, and when it was committed, epoch milliseconds. */
export type DatedChange = EntryChange & { readonly at: number }

/**
 * The changes in one bucket by one journal entry, or by several in a row. They are applied together or not at all: the mark
 * of the bucket tells for all of them whether they were.
 */
export interface Piece {
  /** text of the position of the journal entry, the last one of several */
  readonly pos: string
  readonly seq: number
  readonly bucket: Bucket
  /** each item once */
  readonly changes: readonly DatedChange[]
  /** about how many bytes its items have at most */
  readonly bytes: number
}

/** Facts of this cluster that do not change while a window is applied. */
export interface ApplySettings {
  /** id of the own tree */
  readonly treeId: string
  /** of the head: the first part of all marks */
  readonly incarnation: number
  /** end of the replay after a sync: up to there items may be newer than their journal entries */
  readonly replayUntil: number
  /** epoch seconds */
  readonly now: number
  /** given-up keys, as texts of `placeText`: their items become what journal entries say, whatever is stored */
  readonly tolerated?: ReadonlySet<string>
}

/** What a transaction expects in an item's place. */
export type Expectation = 'absent' | { readonly rev: string } | { readonly leaf: string }

/** What is done with an item: stored, deleted (null), or only checked (absent). */
export interface ItemStep {
  readonly key: Place
  readonly put?: StoredItem | null
  readonly if: Expectation
}

/** A transaction or a part of one: items, and the bucket that sums them. */
export interface Steps {
  readonly items: readonly ItemStep[]
  readonly bucket: Delta
  /** what the bucket's mark becomes, and what it must be below */
  readonly mark: string
}

/** What is stored in the places of a piece: items in the order of its changes. */
export interface StoredState {
  readonly items: readonly (StoredItem | undefined)[]
  /** of the bucket; empty: none */
  readonly mark: string
}

/** What is done about a piece: nothing, because it is applied; a write; or nothing, because items are not as expected. */
export type Judgement =
  | { readonly kind: 'applied' }
  | { readonly kind: 'write'; readonly steps: Steps }
  | { readonly kind: 'mismatch'; readonly places: readonly Place[] }

/** Returns the key of an item or of a change, without the rest. */
export const pickPlace = ({ kind, pk, sk }: Place): Place => ({ kind, pk, sk })

/** What a piece does if everything is as its journal entry expects: this needs no read. */
export function planAsExpected(piece: Piece, setting: ApplySettings): Steps {
  const items = piece.changes.map(change =>
    step(change, setting.treeId, change.prev ? { leaf: change.prev.leaf } : 'absent'),
  )
  return steps(piece, setting, items, piece.changes)
}

/**
 * Decides what a piece does to the items found. A read may be outdated, so the transaction expects everything as it was
 * found, unchanged items included.
 */
export function judgePiece(piece: Piece, found: StoredState, setting: ApplySettings): Judgement {
  if (found.mark >= markText(setting.incarnation, piece.pos)) return { kind: 'applied' }
  const syncing = piece.seq <= setting.replayUntil
  const seen = piece.changes.map((change, index) => ({ change, own: found.items[index] }))
  const wrong = syncing
    ? []
    : seen.filter(({ change, own }) => !isTolerated(change, setting) && !isExpected(change, own, setting.now))
  if (wrong.length > 0) return { kind: 'mismatch', places: wrong.map(({ change }) => pickPlace(change)) }
  const stays = ({ change, own }: (typeof seen)[number]) => syncing && isAhead(change, own, piece.pos)
  const items = seen.map(one =>
    stays(one)
      ? { key: pickPlace(one.change), if: expectUnchanged(one.own) }
      : step(one.change, setting.treeId, expectUnchanged(one.own)),
  )
  const leaves = seen
    .filter(one => !stays(one))
    .map(
      ({ change, own }): LeafChange => ({
        ...pickPlace(change),
        prev: own ? storedLeafInTree(own, setting.treeId) : null,
        next: change.next,
      }),
    )
  return { kind: 'write', steps: steps(piece, setting, items, leaves) }
}

const isTolerated = (change: EntryChange, { tolerated }: ApplySettings): boolean =>
  tolerated?.has(placeText(change)) === true

/** Whether a sync has fetched the item in the state after the journal entry, or in a later one. */
const isAhead = ({ item }: EntryChange, own: StoredItem | undefined, pos: string): boolean =>
  own ? (own.pos ?? '') >= pos : item === null

/**
 * Whether an item is as the journal entry found it at the source. An expiring item may be missing because the engine deleted
 * it here first, or still be there because it was deleted at the source first; either way it had expired by then.
 */
function isExpected({ kind, prev, at }: DatedChange, own: StoredItem | undefined, now: number): boolean {
  const dies = specOf(kind).expiry === 'dies'
  if (own && prev) return own.leaf === prev.leaf
  if (own) return dies && own.expires !== undefined && own.expires * 1000 <= at
  return !prev || (dies && prev.gen !== null && ttlOf(prev.gen) <= now)
}

const expectUnchanged = (own: StoredItem | undefined): Expectation => (own ? { rev: own.rev } : 'absent')

const step = (change: EntryChange, treeId: string, found: Expectation): ItemStep => ({
  key: pickPlace(change),
  put: change.item && placeInTree(change.item, treeId),
  if: found,
})

function steps(
  { bucket, pos }: Piece,
  { treeId, incarnation, now }: ApplySettings,
  items: readonly ItemStep[],
  leaves: readonly LeafChange[],
): Steps {
  const [delta = { kind: 'bucket' as const, bucket, sums: new Map() }] = computeDeltas(treeId, leaves, now)
  return { items, bucket: delta, mark: markText(incarnation, pos) }
}
