import type { Element, Journal } from '../../journal/journal.ts'
import type { Clock, Entropy } from '../../ports.ts'
import type { ItemStep, Steps } from './judge.ts'
import type { Piece } from './pieces.ts'
import type { Target } from './window.ts'

/** What a part of the secondary may reach of its own cluster. */
export interface Own {
  journal: Journal
  clock: Clock
  entropy: Pick<Entropy, 'bytes' | 'uuid'>
}

const LONGEST_PAUSE = 1000

/** Waits before another try: longer each time, and not all at once. */
export const pauseBefore = (
  { clock, entropy }: Pick<Own, 'clock' | 'entropy'>,
  tries: number,
): Promise<void> => {
  const most = Math.min(LONGEST_PAUSE, 20 * 2 ** tries)
  return clock.sleep(Math.floor((most * (1 + (entropy.bytes(1)[0] ?? 0) / 256)) / 2))
}

/** The applier's tables are those of the journal. */
export const targetOf = (own: Own): Target => ({
  find: async pieces => {
    const [items, buckets] = await Promise.all([
      own.journal.raw(pieces.flatMap(({ changes }) => changes)),
      own.journal.buckets(pieces.map(({ bucket }) => bucket)),
    ])
    let at = 0
    return pieces.map(({ changes }: Piece, index) => {
      const some = items.slice(at, at + changes.length)
      at += changes.length
      return { items: some, mark: buckets[index]?.mark ?? '' }
    })
  },
  write: async steps => {
    const result = await own.journal.transact(steps.flatMap(elementsOf))
    return typeof result === 'string' ? result : 'refused'
  },
  pause: tries => pauseBefore(own, tries),
})

const elementsOf = ({ items, bucket, mark }: Steps): Element[] => [
  ...items.map(elementOf),
  { bucket: bucket.bucket, sums: bucket.sums, mark },
]

const elementOf = ({ key, put, if: found }: ItemStep): Element =>
  put === undefined ? { check: key, if: found } : { item: key, put, if: found }
