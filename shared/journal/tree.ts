import { itemKindSpec, type Kind } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { sha256 } from '../values/secret.ts'
import { generationOfTtl, hasGenerationEnded, isGenerationForgotten } from './generation.ts'

/** An item's leaf in the tree, with its generation. */
export interface TreeLeaf {
  /** base64url of 32 bytes */
  readonly leaf: string
  /** `gen` is the generation whose sum contains the leaf; null: the leaf is in the permanent sum */
  readonly gen: number | null
}

/** The key of a bucket. An item's bucket depends only on the item's key. */
export interface TreeBucket {
  readonly pk: string
  readonly sk: string
}

/** A leaf of 256 bits, or a sum of leaves, in three parts of 86 bits, so that sums of 10^8 leaves stay exact. */
export type LeafLimbs = readonly [bigint, bigint, bigint]

/** The sums of a bucket: `p` for permanent items, `g<number>` for a generation. */
export type BucketSums = ReadonlyMap<string, LeafLimbs>

export const TREE_PAGE_COUNT = 256
const BITS = 86n
const LIMB = (1n << BITS) - 1n
const ZERO: LeafLimbs = [0n, 0n, 0n]

const hex = (byte: number): string => byte.toString(16).padStart(2, '0')

/**
 * Returns the bucket of a key: one of the 256 buckets in one of the 256 pages of its subtree.
 * @param treeId id of the tree; a wipe begins another tree
 */
export function treeBucketOf(treeId: string, kind: Kind, pk: string, sk: string): TreeBucket {
  const [page = 0, sub = 0] = sha256(`${pk}\n${sk}`)
  return { pk: `${subtree(treeId, itemKindSpec(kind).class)}#${hex(page)}`, sk: hex(sub) }
}

/** Returns the prefix of the partition keys of a tree's pages. */
const subtree = (treeId: string, of: 'replicated' | 'local'): string =>
  `t#${treeId}#${of === 'replicated' ? 'r' : 'l'}`

/** Returns the partition of a page. The page `root` contains the hashes of all pages. */
export const treePagePkByName = (treeId: string, of: 'replicated' | 'local', page: string): string =>
  `${subtree(treeId, of)}#${page}`

/**
 * Returns the value of an item's attribute `bucket`. The index `tree` lists the items of a bucket by this
 * attribute.
 */
export const treeBucketText = ({ pk, sk }: TreeBucket): string => `${pk}/${sk}`

/** Parses the attribute `bucket` of an item. */
export function parseTreeBucketText(text: string): TreeBucket {
  const at = text.lastIndexOf('/')
  return { pk: text.slice(0, at), sk: text.slice(at + 1) }
}

/**
 * Computes the leaf of an item: the SHA-256 of the parts of the item that readers can see. The leaf does not
 * include the item's position, its place in the tree and its time to live.
 */
export function computeItemLeaf({ pk, sk, kind, rev, data, uses, expires, due }: StoredItem): string {
  const content = [pk, sk, kind, rev, data, uses ?? null, expires ?? null, due ?? null]
  return sha256(canonical(content)).toString('base64url')
}

/** Returns the leaf of a stored item; null if the item was written without a journal. */
export const readStoredLeaf = ({ leaf, ttl }: Pick<StoredItem, 'leaf' | 'ttl'>): TreeLeaf | null =>
  leaf === undefined ? null : { leaf, gen: ttl === undefined ? null : generationOfTtl(ttl) }

/** Returns the leaf of a stored item in one tree; null for items of another tree. */
export const readStoredLeafInTree = (
  stored: Pick<StoredItem, 'leaf' | 'ttl' | 'bucket'>,
  treeId: string,
): TreeLeaf | null => (stored.bucket?.startsWith(`t#${treeId}#`) ? readStoredLeaf(stored) : null)

/** Adds the bucket attribute of one tree to an item. */
export const addTreeBucket = (item: StoredItem, treeId: string): StoredItem => ({
  ...item,
  bucket: treeBucketText(treeBucketOf(treeId, item.kind, item.pk, item.sk)),
})

/** Returns JSON with sorted names, so that equal values give equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(one => canonical(one ?? null)).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`
}

/** Splits a leaf into three parts, the lowest bits first. */
export function splitLeafIntoLimbs(leaf: string): LeafLimbs {
  const number = BigInt(`0x${Buffer.from(leaf, 'base64url').toString('hex')}`)
  return [number & LIMB, (number >> BITS) & LIMB, number >> (2n * BITS)]
}

const plus = (a: LeafLimbs, b: LeafLimbs): LeafLimbs => [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
const negative = ([a, b, c]: LeafLimbs): LeafLimbs => [-a, -b, -c]

const slotOf = ({ gen }: Pick<TreeLeaf, 'gen'>): string => (gen === null ? 'p' : `g${gen}`)

/** A change of the sums of one bucket; an element of a transaction. */
export interface BucketDelta {
  readonly kind: 'bucket'
  readonly bucket: TreeBucket
  readonly sums: BucketSums
}

/** An item that is added, deleted or changed. */
export interface ItemLeafChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  readonly prev: TreeLeaf | null
  readonly next: TreeLeaf | null
}

/**
 * Computes one delta for each bucket that the changes affect, because a transaction may contain an item only once.
 * Buckets whose sums do not change are included, because their marks keep the order of changes.
 * @param now epoch seconds: forgotten generations are left out
 */
export function computeBucketDeltas(
  treeId: string,
  changes: readonly ItemLeafChange[],
  now: number,
): BucketDelta[] {
  const byBucket = new Map<string, { bucket: TreeBucket; sums: Map<string, LeafLimbs> }>()
  for (const { kind, pk, sk, prev, next } of changes) {
    const bucket = treeBucketOf(treeId, kind, pk, sk)
    const delta = byBucket.get(treeBucketText(bucket)) ?? { bucket, sums: new Map<string, LeafLimbs>() }
    byBucket.set(treeBucketText(bucket), delta)
    if (prev) add(delta.sums, prev, negative(splitLeafIntoLimbs(prev.leaf)), now)
    if (next) add(delta.sums, next, splitLeafIntoLimbs(next.leaf), now)
  }
  return [...byBucket.values()].map(({ bucket, sums }) => ({
    kind: 'bucket',
    bucket,
    sums: new Map([...sums].filter(([, limbs]) => limbs.some(limb => limb !== 0n))),
  }))
}

function add(sums: Map<string, LeafLimbs>, leaf: TreeLeaf, limbs: LeafLimbs, now: number): void {
  if (leaf.gen !== null && isGenerationForgotten(leaf.gen, now)) return
  const slot = slotOf(leaf)
  sums.set(slot, plus(sums.get(slot) ?? ZERO, limbs))
}

/** Returns the attribute names of a bucket for the parts of its sums: `p0`, `p1`, `p2`, `g5300_0` and so on. */
export const bucketSumAttributes = (sums: BucketSums): [attribute: string, part: bigint][] =>
  [...sums].flatMap(([slot, limbs]) =>
    limbs.map((limb, index): [string, bigint] => [slot === 'p' ? `p${index}` : `${slot}_${index}`, limb]),
  )

const SUM = /^(?:(p)|(g\d+)_)([012])$/

/** Parses the sums of a bucket from its attributes. The parser ignores other attributes of the bucket. */
export function parseBucketSums(attributes: Readonly<Record<string, bigint>>): BucketSums {
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

/** Returns the total of a bucket's sums, without ended generations. */
export function addLiveSums(sums: BucketSums, now: number): LeafLimbs {
  let total = ZERO
  for (const limbs of selectLiveSums(sums, now).values()) total = plus(total, limbs)
  return total
}

/** Returns the sums without ended generations. */
export const selectLiveSums = (sums: BucketSums, now: number): BucketSums =>
  new Map([...sums].filter(([slot]) => slot === 'p' || !hasGenerationEnded(Number(slot.slice(1)), now)))

/** Returns the total of a bucket as text; empty if the total is zero. */
export function liveTotalText(sums: BucketSums, now: number): string {
  const limbs = addLiveSums(sums, now)
  return limbs.some(limb => limb !== 0n) ? limbs.join(' ') : ''
}

/**
 * Computes the hash of a page from the totals of its buckets, by sort key; base64url. Empty buckets do not count in
 * the hash of a page.
 */
export function hashTreePage(buckets: ReadonlyMap<string, LeafLimbs>): string {
  const lines = [...buckets]
    .filter(([, limbs]) => limbs.some(limb => limb !== 0n))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([sk, limbs]) => `${sk} ${limbs.join(' ')}\n`)
  return sha256(lines.join('')).toString('base64url')
}

/** Computes the root of a subtree from the hashes of all its pages, in order; base64url. */
export const hashTreeRoot = (pages: readonly string[]): string =>
  sha256(pages.join('\n')).toString('base64url')

/**
 * Computes the root of the whole tree from the roots of its subtrees; hex. Clusters compare this root at equal
 * positions.
 */
export const hashWholeTreeRoot = (replicated: string, local: string): string =>
  sha256(`${replicated}\n${local}`).toString('hex')

/** The names of a subtree's pages, in the order in which they are hashed into the root. */
export const treePageNames: readonly string[] = Array.from({ length: TREE_PAGE_COUNT }, (_, index) =>
  hex(index),
)
