import { deflateRawSync, inflateRawSync, type ZlibOptions } from 'node:zlib'
import type { Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { type JournalPosition, positionText } from './position.ts'
import type { TreeLeaf } from './tree.ts'

/** The effect of a commit on one item. */
export interface EntryChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  /** `prev` is the item's leaf in the tree before the commit; null: the item did not exist, or was not in the tree */
  readonly prev: TreeLeaf | null
  /** `next` is the item's leaf in the tree after the commit; null: the commit deletes the item */
  readonly next: TreeLeaf | null
  /**
   * `item` is the item as stored, without `bucket`, which differs between clusters; null: the commit deletes the
   * item
   */
  readonly item: StoredItem | null
}

/**
 * The journal entry at one position: all changes of one commit, or no changes. A journal entry is written once and
 * never changes.
 */
export interface JournalEntry extends JournalPosition {
  /** random id of the commit; empty if nothing was committed at this position */
  readonly id: string
  /** epoch milliseconds */
  readonly at: number
  readonly body: readonly EntryChange[]
  /** `noop`: nothing was committed at this position, and nothing ever will be */
  readonly noop?: true
  /** the Merkle root at this position, as the writing cluster recorded it */
  readonly root?: string
}

/** Returns an empty journal entry, which closes a hole. */
export const createNoopEntry = ({ epoch, seq }: JournalPosition, at: number): JournalEntry => ({
  epoch,
  seq,
  id: '',
  at,
  body: [],
  noop: true,
})

/**
 * Reports whether two journal entries are the same entry, either staged twice or committed by a call whose answer
 * was lost.
 */
export const isSameEntry = (a: JournalEntry, b: JournalEntry): boolean =>
  a.epoch === b.epoch && a.seq === b.seq && a.id === b.id && a.noop === b.noop

type Packed = [kind: Kind, pk: string, sk: string, prev: PackedLeaf, next: PackedLeaf, item: object | null]
type PackedLeaf = [leaf: string, gen: number | null] | null

const packLeaf = (leaf: TreeLeaf | null): PackedLeaf => (leaf ? [leaf.leaf, leaf.gen] : null)
const leafOf = (packed: PackedLeaf): TreeLeaf | null => (packed ? { leaf: packed[0], gen: packed[1] } : null)

/**
 * Encodes the changes of a commit for storage: deflated JSON, without fields that can be computed from other
 * fields.
 */
export function encodeEntryBody(body: readonly EntryChange[]): Buffer {
  const packed = body.map(({ kind, pk, sk, prev, next, item }): Packed => {
    const { pk: _pk, sk: _sk, kind: _kind, pos: _pos, leaf: _leaf, bucket: _bucket, ...rest } = item ?? {}
    return [kind, pk, sk, packLeaf(prev), packLeaf(next), item ? rest : null]
  })
  const text = JSON.stringify(packed)
  return deflateRawSync(text, text.length < SMALL ? FOR_SMALL : {})
}

/**
 * Journal entries with bodies up to this many characters are compressed with less memory. Most bodies of journal
 * entries are those of one login and have some hundred characters. By default a compressor allocates a quarter of a
 * megabyte, and that costs more than the compression. Inflating a body needs no such setting.
 */
const SMALL = 2048
const FOR_SMALL: ZlibOptions = { windowBits: 11, memLevel: 4 }

/** Limit of the inflated changes of one commit, bytes. A commit has at most 25 items of 400,000 bytes. */
const LARGEST_BODY = 16 * 2 ** 20

/**
 * Decodes the changes of a commit.
 * @throws Error for malformed bytes, and for bytes that inflate beyond `LARGEST_BODY`
 */
export function decodeEntryBody(body: Uint8Array, position: JournalPosition): EntryChange[] {
  const text = inflateRawSync(body, { maxOutputLength: LARGEST_BODY }).toString('utf8')
  return (JSON.parse(text) as Packed[]).map(([kind, pk, sk, before, after, rest]) => {
    const [prev, next] = [leafOf(before), leafOf(after)]
    const item =
      rest && next
        ? ({ pk, sk, kind, ...rest, pos: positionText(position), leaf: next.leaf } as StoredItem)
        : null
    return { kind, pk, sk, prev, next, item }
  })
}
