import type { StoredTreeBucket } from './journal.ts'
import { type JournalPosition, parsePosition, positionText } from './position.ts'
import type { JournalTail } from './tail.ts'
import { addLiveSums, hashTreePage, type LeafLimbs } from './tree.ts'

/** Returns the position in a mark. */
const positionInMark = (mark: string): string => mark.slice(mark.indexOf('/') + 1)

/**
 * Computes the hash of a page at an earlier position, by subtracting the effect of later commits on its buckets.
 * @param tail begins at that position or earlier
 * @param now epoch seconds: generations that had ended at `now` do not count
 * @returns undefined when buckets contain commits whose journal entries could not be read
 */
export async function computePageHashAt(
  pk: string,
  buckets: ReadonlyMap<string, StoredTreeBucket>,
  { tail, at, now }: { tail: JournalTail; at: JournalPosition; now: number },
): Promise<string | undefined> {
  const marks = [...buckets.values()].flatMap(({ mark }) => (mark ? [positionInMark(mark)] : []))
  const ahead = marks.filter(pos => pos > positionText(at)).map(pos => parsePosition(pos).seq)
  const missing = await tail.readUpTo(Math.max(at.seq, ...ahead))
  if (ahead.some(seq => missing.has(seq))) return undefined
  const sums = new Map([...buckets].map(([sk, bucket]) => [sk, addLiveSums(bucket.sums, now)]))
  for (const { pos, sk, limbs } of tail.changesOfPage(pk)) {
    const mark = buckets.get(sk)?.mark
    if (pos > positionText(at) && mark && positionInMark(mark) >= pos)
      sums.set(sk, minus(sums.get(sk) ?? [0n, 0n, 0n], limbs))
  }
  return hashTreePage(sums)
}

const minus = (a: LeafLimbs, b: LeafLimbs): LeafLimbs => [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
