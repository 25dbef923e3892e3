import { ApiError } from '../api/errors.ts'
import { denseUpTo } from './density.ts'
import type { Head } from './head.ts'
import type { Journal, StoredPage } from './journal.ts'
import { epochAt, type Position, positionOf, posText } from './position.ts'
import { deltasOf, type Limbs, live, pageHash, pageNames, pagePk, rootHash } from './tree.ts'

/** Where the hashes of both roots stand, by subtree. */
export const rootsPk = (life: string): string => `t#${life}#root`

const SUBTREES = ['replicated', 'local'] as const

/** Positions gone through at once. */
const WINDOW = 500
/** Beyond so many, all pages count as changed. */
const MANY = 20_000
const AT_ONCE = 16
const LOOKS = 5

interface Standing {
  journal: Journal
  life: string
  head: Head
  /** epoch seconds */
  now: number
}

/**
 * Brings hashes of pages, and both roots, up to the last position below which nothing is missing. A hash is that of
 * exactly one position: what buckets already hold of later ones is taken out again.
 * @returns how many pages were made anew
 */
export async function refreshTree(standing: Standing): Promise<number> {
  const { journal, life, head } = standing
  if (head.mode === 'syncing' || head.until > 0) return 0
  const own = head.mode === 'writing' || head.mode === 'closed'
  const seq = own ? await denseUpTo(journal, head) : head.done
  const at = { epoch: epochAt(head.line, seq) || head.epoch, seq }
  const asOf = posText(at)
  const roots = await journal.pageHashes(rootsPk(life))
  if (SUBTREES.every(of => roots.get(of)?.asOf === asOf)) return 0
  const changed = await changedPages(
    standing,
    Math.min(...SUBTREES.map(of => reached(roots.get(of), head))),
    seq,
  )
  let anew = 0
  for (const of of SUBTREES) {
    const pk = pagePk(life, of, 'root')
    const hashes = await journal.pageHashes(pk)
    const due = pageNames.filter(page => changed === 'all' || changed.has(pagePk(life, of, page)))
    anew += due.length
    for (let index = 0; index < due.length; index += AT_ONCE)
      await Promise.all(
        due.slice(index, index + AT_ONCE).map(async page => {
          const hash = await hashOf(standing, pagePk(life, of, page), at)
          hashes.set(page, { hash, asOf })
          await journal.putPageHash(pk, page, { hash, asOf })
        }),
      )
    const hash = rootHash(pageNames.map(page => hashes.get(page)?.hash ?? ''))
    await journal.putPageHash(rootsPk(life), of, { hash, asOf })
  }
  return anew
}

/** Up to where the tree is known; -1 for a place that is not in this journal's lineage. */
function reached(root: StoredPage | undefined, { line }: Head): number {
  if (!root) return -1
  const { epoch, seq } = positionOf(root.asOf)
  return epochAt(line, seq) === epoch || seq === 0 ? seq : -1
}

/** Partitions of the pages that positions behind `after` up to `to` have changed. */
async function changedPages(
  { journal, life, head, now }: Standing,
  after: number,
  to: number,
): Promise<ReadonlySet<string> | 'all'> {
  if (after < head.from || to - after > MANY) return 'all'
  const changed = new Set<string>()
  for (let at = after; at < to; at += WINDOW)
    for (const cell of await journal.cells(head.line, at, Math.min(at + WINDOW, to)))
      for (const { bucket } of deltasOf(life, cell?.body ?? [], now)) changed.add(bucket.pk)
  return changed
}

/** The position in a mark. */
const posIn = (mark: string): string => mark.slice(mark.indexOf('/') + 1)

/**
 * The hash of a page as it was at a position.
 * @throws ApiError `busy` when buckets are ahead of the cells that can be read
 */
async function hashOf({ journal, life, head, now }: Standing, pk: string, at: Position): Promise<string> {
  for (let looks = 0; looks < LOOKS; looks++) {
    const buckets = await journal.page(pk)
    const ahead = [...buckets.values()].flatMap(({ mark }) =>
      mark && posIn(mark) > posText(at) ? [mark] : [],
    )
    const last = Math.max(at.seq, ...ahead.map(mark => positionOf(posIn(mark)).seq))
    const later = await journal.cells(head.line, at.seq, last)
    if (ahead.some(mark => !later[positionOf(posIn(mark)).seq - at.seq - 1])) continue
    const sums = new Map([...buckets].map(([sk, bucket]) => [sk, live(bucket.sums, now)]))
    for (const cell of later)
      for (const delta of deltasOf(life, cell?.body ?? [], now)) {
        const mark = buckets.get(delta.bucket.sk)?.mark
        if (!cell || delta.bucket.pk !== pk || !mark || posIn(mark) < posText(cell)) continue
        sums.set(delta.bucket.sk, less(sums.get(delta.bucket.sk) ?? [0n, 0n, 0n], live(delta.sums, now)))
      }
    return pageHash(sums)
  }
  throw new ApiError('busy', 'the tree is ahead of its journal', { retryAfter: 1 })
}

const less = (a: Limbs, b: Limbs): Limbs => [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
