import { formatBucketLine, parseBucketLine } from '../../journal/bucket-line.ts'
import { generationOfTtl, hasGenerationEnded } from '../../journal/generation.ts'
import { type ItemPlace, itemPlaceText, type Journal } from '../../journal/journal.ts'
import { allTreePages, type TreePagePlace, treeBucketAt, treePagePk } from '../../journal/page-places.ts'
import {
  computeItemLeaf,
  liveTotalText,
  treeBucketOf,
  treeBucketText,
  treePageNames,
} from '../../journal/tree.ts'
import type { SourceLink } from '../../link/source-link.ts'
import type { Clock } from '../../ports.ts'
import { itemKinds, type Key } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { mapInParallel } from '../../values/in-parallel.ts'
import { ok, PENDING_RESULT } from '../../values/result.ts'
import { pollWhilePending } from '../../values/retrying.ts'

/** A secondary with a link to its primary. */
export interface ComparisonPorts {
  journal: Journal
  /** id of this cluster's tree */
  treeId: string
  /** epoch seconds */
  now: number
  link: Pick<SourceLink, 'tree' | 'items'>
}

interface Comparing extends ComparisonPorts {
  clock: Clock
  /** `progress` is called after each page; a throwing `progress` stops the comparison */
  progress(): Promise<void>
}

/** Maximum number of keys in one comparison. The next comparison finds the remaining keys. */
export const MAX_COMPARED_ITEMS = 10_000
/** Number of keys that are compared together. */
export const ITEMS_PER_COMPARISON = 100

/**
 * Finds the keys whose items differ from the primary's, although this secondary has applied every entry that the
 * primary had written when the comparison began.
 * @throws Error if the secondary does not keep up
 */
export async function findSourceDifferences(ports: Comparing): Promise<ItemPlace[]> {
  const found = await mapInParallel(allTreePages, async place => {
    const keys = await findDifferenceSuspects(ports, place)
    await ports.progress()
    return keys
  })
  const suspects = found.flat().slice(0, MAX_COMPARED_ITEMS)
  const real: ItemPlace[] = []
  for (let at = 0; at < suspects.length; at += ITEMS_PER_COMPARISON) {
    const sample = await readItemsAtSource(ports, suspects.slice(at, at + ITEMS_PER_COMPARISON))
    await awaitApplied(ports, sample.seq)
    real.push(...(await findStillDiffering(ports, sample)))
  }
  return real
}

/** Finds the keys in those buckets of a page whose sums differ, including keys that the primary has just written. */
export async function findDifferenceSuspects(
  { journal, treeId, now, link }: ComparisonPorts,
  place: TreePagePlace,
): Promise<Key[]> {
  const page = `${place.of === 'replicated' ? 'r' : 'l'}#${treePageNames[place.page]}`
  const [own, { hashes }] = await Promise.all([
    journal.page(treePagePk(treeId, place)),
    link.tree({ level: 'page', page }),
  ])
  const keys: Key[] = []
  for (const [subpage, sk] of treePageNames.entries()) {
    if (liveTotalText(own.get(sk)?.sums ?? new Map(), now) === (hashes[subpage] ?? '')) continue
    const bucket = treeBucketAt(treeId, place, subpage)
    const [mine, theirs] = await Promise.all([
      journal.readBucketItems(bucket, []),
      link.tree({ level: 'bucket', page: `${page}/${sk}` }),
    ])
    keys.push(
      ...compareLines(mine.map(formatBucketLine), theirs.hashes, now).filter(one =>
        isIn(bucket, treeId, one),
      ),
    )
  }
  return keys
}

/**
 * Returns the keys of the lines that only one side has. @param now epoch seconds: items that expired before `now`
 * may be missing on either side
 */
function compareLines(mine: readonly string[], theirs: readonly string[], now: number): Key[] {
  const both = new Set(mine.filter(line => theirs.includes(line)))
  const lines = [...mine, ...theirs].filter(line => !both.has(line)).map(parseBucketLine)
  const counting = lines.filter(([, , , , gen]) => gen === null || !hasGenerationEnded(gen, now))
  const keys = counting.flatMap(([kind, pk, sk]) =>
    Object.hasOwn(itemKinds, kind) ? [{ kind: kind as Key['kind'], pk, sk }] : [],
  )
  return [...new Map(keys.map(one => [itemPlaceText(one), one])).values()]
}

const isIn = (bucket: { pk: string; sk: string }, treeId: string, { kind, pk, sk }: Key): boolean =>
  treeBucketText(treeBucketOf(treeId, kind, pk, sk)) === treeBucketText(bucket)

/** Items as the primary had them, and the last position that the primary had allocated at that time. */
export interface SourceSample {
  readonly keys: readonly Key[]
  readonly items: readonly (StoredItem | undefined)[]
  readonly seq: number
}

export async function readItemsAtSource(
  { link }: Pick<ComparisonPorts, 'link'>,
  keys: readonly Key[],
): Promise<SourceSample> {
  const { items, seq } = await link.items({ keys })
  return { keys, items, seq }
}

/** Finds the keys whose items still differ after this cluster has applied all entries that the primary had written. */
export async function findStillDiffering(
  { journal, now, link }: ComparisonPorts,
  { keys, items }: SourceSample,
): Promise<ItemPlace[]> {
  const own = await journal.readRaw(keys)
  const second = await link.items({ keys })
  return keys.filter((_, index) => {
    const theirs = second.items[index]
    const isStill = theirs?.rev === items[index]?.rev && theirs?.pos === items[index]?.pos
    return isStill && !isEqualContent(own[index], theirs, now)
  })
}

function isEqualContent(own: StoredItem | undefined, theirs: StoredItem | undefined, now: number): boolean {
  if (own && theirs) return theirs.leaf === undefined || computeItemLeaf(own) === computeItemLeaf(theirs)
  const one = own ?? theirs
  return one === undefined || (one.ttl !== undefined && hasGenerationEnded(generationOfTtl(one.ttl), now))
}

const COMPARE_TIMEOUT_MS = 30_000
const COMPARE_PAUSE_MS = 200

async function awaitApplied(
  { journal, clock }: Pick<Comparing, 'journal' | 'clock'>,
  seq: number,
): Promise<void> {
  const when = { everyMs: COMPARE_PAUSE_MS, until: clock.now() + COMPARE_TIMEOUT_MS }
  const seen = await pollWhilePending(clock, when, async () => {
    const head = await journal.head()
    return head?.mode === 'applying' && head.replayUntil === 0 && head.applied >= seq ? ok() : PENDING_RESULT
  })
  if (!seen.ok) throw new Error('this secondary does not keep up with its primary')
}
