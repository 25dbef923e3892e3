import { deflateRawSync, inflateRawSync, type ZlibOptions } from 'node:zlib'
import type { Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { type Position, posText } from './position.ts'
import type { Leaf } from './tree.ts'

/** What a commit did to one item. */
export interface EntryChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  /** its leaf in the tree before; null: it had none, or was not there */
  readonly prev: Leaf | null
  /** its leaf in the tree now; null: the item is deleted */
  readonly next: Leaf | null
  /** as it stands in the table, without `bucket`, which differs between clusters; null: it is deleted */
  readonly item: StoredItem | null
}

/** What stands at one position of the journal: all changes of one commit, or none. Written once. */
export interface JournalEntry extends Position {
  /** of the commit, random; empty if nothing was committed here */
  readonly id: string
  /** epoch milliseconds */
  readonly at: number
  readonly body: readonly EntryChange[]
  /** nothing was committed at this position, and nothing ever will be */
  readonly noop?: true
  /** the Merkle root at this position, as the cluster that wrote the entry noted it */
  readonly root?: string
}

/** An empty journal entry, which closes a hole. */
export const noopEntry = ({ epoch, seq }: Position, at: number): JournalEntry => ({
  epoch,
  seq,
  id: '',
  at,
  body: [],
  noop: true,
})

/** Whether two journal entries are the same one: staged twice, or committed by a call whose answer was lost. */
export const isSameEntry = (a: JournalEntry, b: JournalEntry): boolean =>
  a.epoch === b.epoch && a.seq === b.seq && a.id === b.id && a.noop === b.noop

type Packed = [kind: Kind, pk: string, sk: string, prev: PackedLeaf, next: PackedLeaf, item: object | null]
type PackedLeaf = [leaf: string, gen: number | null] | null

const packLeaf = (leaf: Leaf | null): PackedLeaf => (leaf ? [leaf.leaf, leaf.gen] : null)
const leafOf = (packed: PackedLeaf): Leaf | null => (packed ? { leaf: packed[0], gen: packed[1] } : null)

/** The changes of a commit as a journal entry stores them: deflated JSON, without fields that follow from others. */
export function encodeBody(body: readonly EntryChange[]): Buffer {
  const packed = body.map(({ kind, pk, sk, prev, next, item }): Packed => {
    const { pk: _pk, sk: _sk, kind: _kind, pos: _pos, leaf: _leaf, bucket: _bucket, ...rest } = item ?? {}
    return [kind, pk, sk, packLeaf(prev), packLeaf(next), item ? rest : null]
  })
  const text = JSON.stringify(packed)
  return deflateRawSync(text, text.length < SMALL ? FOR_SMALL : {})
}

/**
 * Most bodies are those of one login, some hundred characters. For each a compressor takes a quarter of a megabyte, unless it is
 * told how little it will see: that costs more than the compression. Whoever inflates need not know.
 */
const SMALL = 2048
const FOR_SMALL: ZlibOptions = { windowBits: 11, memLevel: 4 }

/** The most bytes that the inflated changes of one commit can have: a commit has at most 25 items of 400,000 bytes. */
const LARGEST_BODY = 16 * 2 ** 20

/**
 * Reads the changes of a commit.
 * @throws Error for bytes that are not such changes, or that inflate beyond the bound
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
