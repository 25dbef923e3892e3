import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { type Position, posText } from './position.ts'
import type { Leaf } from './tree.ts'

/** What a commit did to one item. */
export interface EntryChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  /** what the tree held of it; null: nothing, or it was not there */
  readonly prev: Leaf | null
  /** what the tree holds of it now; null: it is gone */
  readonly next: Leaf | null
  /** as it stands in the table but for `bucket`, which is each cluster's own; null: it is gone */
  readonly item: StoredItem | null
}

/** A place of the journal: all changes of one commit, or nothing. Written once. */
export interface JournalEntry extends Position {
  /** of the commit, random; empty where nothing was written */
  readonly id: string
  /** epoch milliseconds */
  readonly at: number
  readonly body: readonly EntryChange[]
  /** nothing was written at this position, and nothing ever will be */
  readonly noop?: true
  /** the Merkle root that the owner noted here */
  readonly root?: string
}

/** A journal entry that closes a hole. */
export const noopEntry = ({ epoch, seq }: Position, at: number): JournalEntry => ({
  epoch,
  seq,
  id: '',
  at,
  body: [],
  noop: true,
})

/** Whether two journal entries say the same: what was staged twice, or committed by one whose answer was lost. */
export const sameEntry = (a: JournalEntry, b: JournalEntry): boolean =>
  a.epoch === b.epoch && a.seq === b.seq && a.id === b.id && a.noop === b.noop

type Packed = [kind: Kind, pk: string, sk: string, prev: PackedLeaf, next: PackedLeaf, item: object | null]
type PackedLeaf = [leaf: string, gen: number | null] | null

const packLeaf = (leaf: Leaf | null): PackedLeaf => (leaf ? [leaf.leaf, leaf.gen] : null)
const leafOf = (packed: PackedLeaf): Leaf | null => (packed ? { leaf: packed[0], gen: packed[1] } : null)

/** The changes of a commit as a journal entry holds them: deflated JSON, without what follows from the rest. */
export function encodeBody(body: readonly EntryChange[]): Buffer {
  const packed = body.map(({ kind, pk, sk, prev, next, item }): Packed => {
    const { pk: _pk, sk: _sk, kind: _kind, pos: _pos, leaf: _leaf, bucket: _bucket, ...rest } = item ?? {}
    return [kind, pk, sk, packLeaf(prev), packLeaf(next), item ? rest : null]
  })
  return deflateRawSync(JSON.stringify(packed))
}

/** Bytes that the changes of one commit may come to, inflated: a commit has 25 items of 400,000 bytes at most. */
const LARGEST_BODY = 16 * 2 ** 20

/**
 * The changes of a commit as they were made.
 * @throws Error for what no journal entry holds, and for what inflates beyond all measure
 */
export function decodeBody(body: Uint8Array, position: Position): EntryChange[] {
  const text = inflateRawSync(body, { maxOutputLength: LARGEST_BODY }).toString('utf8')
  return (JSON.parse(text) as Packed[]).map(([kind, pk, sk, before, after, rest]) => {
    const [prev, next] = [leafOf(before), leafOf(after)]
    const item =
      rest && next ? ({ pk, sk, kind, ...rest, pos: posText(position), leaf: next.leaf } as StoredItem) : null
    return { kind, pk, sk, prev, next, item }
  })
}
