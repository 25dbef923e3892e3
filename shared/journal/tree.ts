import { type Kind, specOf } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { sha256 } from '../values/secret.ts'
import { generationOfTtl, hasEnded, isForgotten } from './generation.ts'

/** The part of an item in the tree. */
export interface Leaf {
  /** base64url of 32 bytes */
  readonly leaf: string
  /** the generation in whose sum it is; null: in the sum of those that do not expire */
  readonly gen: number | null
}

/** The key of a bucket's sums. A key of an item always has the same bucket, whatever the item contains. */
export interface Bucket {
  readonly pk: string
  readonly sk: string
}

/** Three parts of a leaf of 256 bits, or of a sum of leaves; 86 bits each, so that sums of 10^8 leaves stay exact. */
export type Limbs = readonly [bigint, bigint, bigint]

/** Sums of a bucket: `p` for what does not expire, `g<number>` for a generation. */
export type Sums = ReadonlyMap<string, Limbs>

export const PAGES = 256
const BITS = 86n
const LIMB = (1n << BITS) - 1n
const ZERO: Limbs = [0n, 0n, 0n]

const hex = (byte: number): string => byte.toString(16).padStart(2, '0')

/**
 * The bucket of a key: one of 256 in one of 256 pages of its subtree.
 * @param treeId of the tree: a cluster that is wiped begins another tree
 */
export function bucketOf(treeId: string, kind: Kind, pk: string, sk: string): Bucket {
  const [page = 0, sub = 0] = sha256(`${pk}\n${sk}`)
  return { pk: `${subtree(treeId, specOf(kind).class)}#${hex(page)}`, sk: hex(sub) }
}

/** The beginning of the partition keys of a tree's pages. */
const subtree = (treeId: string, of: 'replicated' | 'local'): string =>
  `t#${treeId}#${of === 'replicated' ? 'r' : 'l'}`

/** The partition of a page; `root` is that of the pages' hashes. */
export const pagePk = (treeId: string, of: 'replicated' | 'local', page: string): string =>
  `${subtree(treeId, of)}#${page}`

/** The value by which the index `tree` finds the items of a bucket. */
export const bucketText = ({ pk, sk }: Bucket): string => `${pk}/${sk}`

/** The key of the bucket that the attribute `bucket` of an item names. */
export function parseBucketText(text: string): Bucket {
  const at = text.lastIndexOf('/')
  return { pk: text.slice(0, at), sk: text.slice(at + 1) }
}

/**
 * The leaf of an item: SHA-256 of everything that readers can see of it. Its position, its place in the tree and the time
 * for the engine's own deletion are not included.
 */
export function leafOf({ pk, sk, kind, rev, data, uses, expires, due }: StoredItem): string {
  const content = [pk, sk, kind, rev, data, uses ?? null, expires ?? null, due ?? null]
  return sha256(canonical(content)).toString('base64url')
}

/** The leaf of a stored item; null if it was written without a journal. */
export const storedLeaf = ({ leaf, ttl }: Pick<StoredItem, 'leaf' | 'ttl'>): Leaf | null =>
  leaf === undefined ? null : { leaf, gen: ttl === undefined ? null : generationOfTtl(ttl) }

/** The same in one tree: items of another tree have none. */
export const storedLeafInTree = (
  stored: Pick<StoredItem, 'leaf' | 'ttl' | 'bucket'>,
  treeId: string,
): Leaf | null => (stored.bucket?.startsWith(`t#${treeId}#`) ? storedLeaf(stored) : null)

/** An item with its place in a tree, as the cluster with this tree stores it. */
export const placeInTree = (item: StoredItem, treeId: string): StoredItem => ({
  ...item,
  bucket: bucketText(bucketOf(treeId, item.kind, item.pk, item.sk)),
})

/** JSON with sorted names: equal values give equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(one => canonical(one ?? null)).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`
}

/** A leaf in three parts, the lowest bits first. */
export function limbsOf(leaf: string): Limbs {
  const number = BigInt(`0x${Buffer.from(leaf, 'base64url').toString('hex')}`)
  return [number & LIMB, (number >> BITS) & LIMB, number >> (2n * BITS)]
}

const plus = (a: Limbs, b: Limbs): Limbs => [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
const negative = ([a, b, c]: Limbs): Limbs => [-a, -b, -c]

const slotOf = ({ gen }: Pick<Leaf, 'gen'>): string => (gen === null ? 'p' : `g${gen}`)

/** A change of the sums of one bucket: an element of a transaction. */
export interface Delta {
  readonly kind: 'bucket'
  readonly bucket: Bucket
  readonly sums: Sums
}

/** An item that is added, deleted or changed. */
export interface LeafChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  readonly prev: Leaf | null
  readonly next: Leaf | null
}

/**
 * The deltas of buckets for changes of items, one for each bucket, since a transaction may contain an item once. Buckets
 * whose sums do not change are included, because their marks keep the order of changes.
 * @param now epoch seconds: generations that ended long before are left out
 */
export function computeDeltas(treeId: string, changes: readonly LeafChange[], now: number): Delta[] {
  const byBucket = new Map<string, { bucket: Bucket; sums: Map<string, Limbs> }>()
  for (const { kind, pk, sk, prev, next } of changes) {
    const bucket = bucketOf(treeId, kind, pk, sk)
    const delta = byBucket.get(bucketText(bucket)) ?? { bucket, sums: new Map<string, Limbs>() }
    byBucket.set(bucketText(bucket), delta)
    if (prev) add(delta.sums, prev, negative(limbsOf(prev.leaf)), now)
    if (next) add(delta.sums, next, limbsOf(next.leaf), now)
  }
  return [...byBucket.values()].map(({ bucket, sums }) => ({
    kind: 'bucket',
    bucket,
    sums: new Map([...sums].filter(([, limbs]) => limbs.some(limb => limb !== 0n))),
  }))
}

function add(sums: Map<string, Limbs>, leaf: Leaf, limbs: Limbs, now: number): void {
  if (leaf.gen !== null && isForgotten(leaf.gen, now)) return
  const slot = slotOf(leaf)
  sums.set(slot, plus(sums.get(slot) ?? ZERO, limbs))
}

/** Attributes of a bucket that hold the parts of its sums: `p0`, `p1`, `p2`, `g5300_0` and so on. */
export const sumAttributes = (sums: Sums): [attribute: string, part: bigint][] =>
  [...sums].flatMap(([slot, limbs]) =>
    limbs.map((limb, index): [string, bigint] => [slot === 'p' ? `p${index}` : `${slot}_${index}`, limb]),
  )

const SUM = /^(?:(p)|(g\d+)_)([012])$/

/** The sums of a bucket from its attributes; other attributes are ignored. */
export function parseSums(attributes: Readonly<Record<string, bigint>>): Sums {
  const sums = new Map<string, [bigint, bigint, bigint]>()
  for (const [attribute, part] of Object.entries(attributes)) {
    const [, p, generation, index] = SUM.exec(attribute) ?? []
    const slot = p ?? generation
    if (slot === undefined) continue
    const limbs = sums.get(slot) ?? [0n, 0n, 0n]
    limbs[Number(index)] = BigInt(part)
    sums.set(slot, limbs)
  }
  return sums
}

/** The total of a bucket: all of its sums that still count. */
export function sumLive(sums: Sums, now: number): Limbs {
  let total = ZERO
  for (const limbs of liveSums(sums, now).values()) total = plus(total, limbs)
  return total
}

/** The sums that still count. */
export const liveSums = (sums: Sums, now: number): Sums =>
  new Map([...sums].filter(([slot]) => slot === 'p' || !hasEnded(Number(slot.slice(1)), now)))

/** The total of a bucket as a text; empty if the total is zero. */
export function totalText(sums: Sums, now: number): string {
  const limbs = sumLive(sums, now)
  return limbs.some(limb => limb !== 0n) ? limbs.join(' ') : ''
}

/** Hash of a page from the live sums of its buckets, by their sort keys; base64url. An empty bucket counts as none. */
export function pageHash(buckets: ReadonlyMap<string, Limbs>): string {
  const lines = [...buckets]
    .filter(([, limbs]) => limbs.some(limb => limb !== 0n))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([sk, limbs]) => `${sk} ${limbs.join(' ')}\n`)
  return sha256(lines.join('')).toString('base64url')
}

/** Hash of a subtree from the hashes of all its pages, in their order; base64url. */
export const rootHash = (pages: readonly string[]): string => sha256(pages.join('\n')).toString('base64url')

/** The root of the whole tree, hex, from the roots of its subtrees: what two clusters compare at equal positions. */
export const wholeRoot = (replicated: string, local: string): string =>
  sha256(`${replicated}\n${local}`).toString('hex')

/** Names of a subtree's pages, in the order in which the root takes them. */
export const pageNames: readonly string[] = Array.from({ length: PAGES }, (_, index) => hex(index))
