import { type Kind, specOf } from '../storage/kinds.ts'
import type { StoredItem } from '../storage/requests.ts'
import { sha256 } from '../values/secret.ts'
import { ended, forgotten, generationOfTtl } from './generation.ts'

/** What the tree holds of an item. */
export interface Leaf {
  /** base64url of 32 bytes */
  readonly leaf: string
  /** the generation among whose leaves it is summed; null: among those that do not expire */
  readonly gen: number | null
}

/** Where the sums of a bucket stand. A key has one bucket for ever, whatever its item holds. */
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

/** The value of the index `tree`: which bucket an item belongs to. */
export const bucketText = ({ pk, sk }: Bucket): string => `${pk}/${sk}`

/** Where the attribute `bucket` of an item says that its sums stand. */
export function bucketIn(text: string): Bucket {
  const at = text.lastIndexOf('/')
  return { pk: text.slice(0, at), sk: text.slice(at + 1) }
}

/**
 * The leaf of an item: SHA-256 of all that readers may see of it. Position, place in the tree and the time for the
 * engine's own deletion are not part of it.
 */
export function leafOf({ pk, sk, kind, rev, data, uses, expires, due }: StoredItem): string {
  const content = [pk, sk, kind, rev, data, uses ?? null, expires ?? null, due ?? null]
  return sha256(canonical(content)).toString('base64url')
}

/** What the tree holds of an item as it stands in the table; null where it was written while nothing was journaled. */
export const leafIn = ({ leaf, ttl }: Pick<StoredItem, 'leaf' | 'ttl'>): Leaf | null =>
  leaf === undefined ? null : { leaf, gen: ttl === undefined ? null : generationOfTtl(ttl) }

/** The same in one tree: what stands in another tree does not count. */
export const leafInTree = (
  stored: Pick<StoredItem, 'leaf' | 'ttl' | 'bucket'>,
  treeId: string,
): Leaf | null => (stored.bucket?.startsWith(`t#${treeId}#`) ? leafIn(stored) : null)

/** An item with its place in a tree, as it stands in the table of the cluster that has this tree. */
export const placed = (item: StoredItem, treeId: string): StoredItem => ({
  ...item,
  bucket: bucketText(bucketOf(treeId, item.kind, item.pk, item.sk)),
})

/** JSON with sorted names: one text for one value. */
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

/** How the sums of one bucket change. */
export interface Delta {
  readonly bucket: Bucket
  readonly sums: Sums
}

/** An item that comes, goes, or changes. */
export interface LeafChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  readonly prev: Leaf | null
  readonly next: Leaf | null
}

/**
 * What changes of items do to their buckets, each bucket once: an item may appear once in a transaction. Buckets
 * whose sums stay as they are are there as well, for they carry the order of changes.
 * @param now epoch seconds: what belongs to a generation long ended is left out
 */
export function deltasOf(treeId: string, changes: readonly LeafChange[], now: number): Delta[] {
  const byBucket = new Map<string, { bucket: Bucket; sums: Map<string, Limbs> }>()
  for (const { kind, pk, sk, prev, next } of changes) {
    const bucket = bucketOf(treeId, kind, pk, sk)
    const delta = byBucket.get(bucketText(bucket)) ?? { bucket, sums: new Map<string, Limbs>() }
    byBucket.set(bucketText(bucket), delta)
    if (prev) add(delta.sums, prev, negative(limbsOf(prev.leaf)), now)
    if (next) add(delta.sums, next, limbsOf(next.leaf), now)
  }
  return [...byBucket.values()].map(({ bucket, sums }) => ({
    bucket,
    sums: new Map([...sums].filter(([, limbs]) => limbs.some(limb => limb !== 0n))),
  }))
}

function add(sums: Map<string, Limbs>, leaf: Leaf, limbs: Limbs, now: number): void {
  if (leaf.gen !== null && forgotten(leaf.gen, now)) return
  const slot = slotOf(leaf)
  sums.set(slot, plus(sums.get(slot) ?? ZERO, limbs))
}

/** Attributes of a bucket that hold the parts of its sums: `p0`, `p1`, `p2`, `g5300_0` and so on. */
export const sumAttributes = (sums: Sums): [attribute: string, part: bigint][] =>
  [...sums].flatMap(([slot, limbs]) =>
    limbs.map((limb, index): [string, bigint] => [slot === 'p' ? `p${index}` : `${slot}_${index}`, limb]),
  )

const SUM = /^(?:(p)|(g\d+)_)([012])$/

/** The sums of a bucket from its attributes; those that are no sums are passed over. */
export function sumsFrom(attributes: Readonly<Record<string, bigint>>): Sums {
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

/** What a bucket amounts to: all of its sums that still count. */
export function live(sums: Sums, now: number): Limbs {
  let total = ZERO
  for (const limbs of liveSums(sums, now).values()) total = plus(total, limbs)
  return total
}

/** Those of the sums that still count. */
export const liveSums = (sums: Sums, now: number): Sums =>
  new Map([...sums].filter(([slot]) => slot === 'p' || !ended(Number(slot.slice(1)), now)))

/** What a bucket amounts to, as a text; empty where it holds nothing. */
export function amountOf(sums: Sums, now: number): string {
  const limbs = live(sums, now)
  return limbs.some(limb => limb !== 0n) ? limbs.join(' ') : ''
}

/** Hash of a page from the live sums of its buckets, by their sort keys; base64url. An empty bucket is as good as none. */
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
