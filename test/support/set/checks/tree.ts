import { hasGenerationEnded } from '../../../../shared/journal/generation.ts'
import {
  type LeafLimbs,
  parseBucketSums,
  parseTreeBucketText,
  readStoredLeafInTree,
  splitLeafIntoLimbs,
  treeBucketText,
} from '../../../../shared/journal/tree.ts'
import type { StoredItem } from '../../../../shared/storage/requests.ts'
import type { Check, Standing } from '../history.ts'

/**
 * Returns the sums of a bucket by slot, as texts. Sums that are zero or belong to expired slots are left out.
 */
function sumsText(sums: ReadonlyMap<string, LeafLimbs>, seconds: number): string {
  return [...sums]
    .filter(
      ([slot, limbs]) =>
        limbs.some(limb => limb !== 0n) &&
        (slot === 'p' || !hasGenerationEnded(Number(slot.slice(1)), seconds)),
    )
    .map(([slot, limbs]) => `${slot}:${limbs.join()}`)
    .sort()
    .join(' ')
}

/** Computes the sums of a bucket from its items. */
function rightSums(now: Standing, treeId: string, bucket: string): Map<string, LeafLimbs> {
  const sums = new Map<string, LeafLimbs>()
  for (const item of now.data.values()) {
    const leaf = item.bucket === bucket ? readStoredLeafInTree(item, treeId) : null
    if (!leaf) continue
    const slot = leaf.gen === null ? 'p' : `g${leaf.gen}`
    const [a, b, c] = splitLeafIntoLimbs(leaf.leaf)
    const [x, y, z] = sums.get(slot) ?? [0n, 0n, 0n]
    sums.set(slot, [a + x, b + y, c + z])
  }
  return sums
}

const storedSums = (now: Standing, bucket: string) => {
  const { pk, sk } = parseTreeBucketText(bucket)
  return parseBucketSums((now.own.get(`${pk}\n${sk}`) ?? {}) as Record<string, bigint>)
}

/** Checks that a bucket is the sum of the leaves of its items, at every moment. */
export const sums = (): Check => {
  return ({ entry, now }) => {
    const { treeId } = now.record ?? {}
    if (entry.what !== 'written' || treeId === undefined) return undefined
    const seconds = Math.floor(entry.at / 1000)
    for (const bucket of touched(entry.changes, treeId)) {
      const [right, kept] = [rightSums(now, treeId, bucket), storedSums(now, bucket)]
      if (sumsText(right, seconds) !== sumsText(kept, seconds))
        return `bucket ${bucket} is not the sum of its leaves`
    }
    return undefined
  }
}

function touched(
  changes: Extract<Parameters<Check>[0]['entry'], { changes: unknown }>['changes'],
  treeId: string,
) {
  const mine = `t#${treeId}#`
  const named = changes.flatMap(({ pk, sk, before, after }) =>
    pk.startsWith(mine)
      ? pk.includes('#root') || !/#[rl]#[0-9a-f]{2}$/.test(pk)
        ? []
        : [treeBucketText({ pk, sk })]
      : [before, after].flatMap(item => (item as StoredItem | undefined)?.bucket ?? []),
  )
  return new Set(named.filter(bucket => bucket.startsWith(mine)))
}

/** Checks that the mark of a bucket never decreases. */
export const order = (): Check => {
  return ({ entry }) => {
    if (entry.what !== 'written') return undefined
    for (const { pk, before, after } of entry.changes) {
      if (!pk.startsWith('t#') || !before || !after) continue
      const [old, next] = [String(before['mark'] ?? ''), String(after['mark'] ?? '')]
      if (next < old) return `the mark of a bucket of ${pk} goes back from ${old} to ${next}`
    }
    return undefined
  }
}

/**
 * Returns all buckets of a cluster's tree as texts without the tree's name. Clusters with equal items have
 * equal texts.
 */
export function treeText({ own, record }: Standing, seconds: number): string[] {
  const mine = `t#${record?.treeId}#`
  return [...own.values()]
    .filter(({ pk }) => String(pk).startsWith(mine) && /#[rl]#[0-9a-f]{2}$/.test(String(pk)))
    .map(item => ({
      name: `${String(item['pk']).slice(mine.length)}/${item['sk']}`,
      text: sumsText(parseBucketSums(item as Record<string, bigint>), seconds),
    }))
    .filter(({ text }) => text !== '')
    .map(({ name, text }) => `${name} ${text}`)
    .sort()
}
