import type { SourceLink } from '../../link/source.ts'
import { type Key, kinds } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { bucketLine, readBucketLine } from '../bucket-line.ts'
import { ended, generationOfTtl } from '../generation.ts'
import type { Place } from '../journal.ts'
import { amountOf, bucketOf, bucketText, leafOf, pageNames } from '../tree.ts'
import { inParallel } from './lasting.ts'
import { allPages, bucketAt, type PagePlace, pkOfPage } from './tally.ts'
import type { TreeView } from './view.ts'

/** A secondary beside its primary. */
export interface Beside extends Pick<TreeView, 'journal' | 'clock' | 'life' | 'now'> {
  link: Pick<SourceLink, 'tree' | 'items'>
  /** after every page; may throw to end it */
  progress(): Promise<void>
}

/** Keys that are fetched for one comparison: the next one finds the others. */
const MOST = 10_000
const TOGETHER = 100

/**
 * Keys that this secondary holds otherwise than its primary, though it has applied everything that the primary had
 * written when it was asked.
 * @throws Error when it does not keep up
 */
export async function differencesTo(beside: Beside): Promise<Place[]> {
  const found = await inParallel(allPages, async place => {
    const keys = await differingIn(beside, place)
    await beside.progress()
    return keys
  })
  const suspects = found.flat().slice(0, MOST)
  const real: Place[] = []
  for (let at = 0; at < suspects.length; at += TOGETHER)
    real.push(...(await realOf(beside, suspects.slice(at, at + TOGETHER))))
  return real
}

/** Keys in the buckets of a page whose sums differ. What the primary has written just now is among them. */
async function differingIn({ journal, life, now, link }: Beside, place: PagePlace): Promise<Key[]> {
  const page = `${place.of === 'replicated' ? 'r' : 'l'}#${pageNames[place.page]}`
  const [own, { hashes }] = await Promise.all([
    journal.page(pkOfPage(life, place)),
    link.tree({ level: 'page', page }),
  ])
  const keys: Key[] = []
  for (const [subpage, sk] of pageNames.entries()) {
    if (amountOf(own.get(sk)?.sums ?? new Map(), now) === (hashes[subpage] ?? '')) continue
    const bucket = bucketAt(life, place, subpage)
    const [mine, theirs] = await Promise.all([
      journal.itemsOf(bucket, []),
      link.tree({ level: 'bucket', page: `${page}/${sk}` }),
    ])
    keys.push(
      ...keysThatDiffer(mine.map(bucketLine), theirs.hashes, now).filter(one => isIn(bucket, life, one)),
    )
  }
  return keys
}

/** @param now epoch seconds: what had ended by then may be missing on either side */
function keysThatDiffer(mine: readonly string[], theirs: readonly string[], now: number): Key[] {
  const both = new Set(mine.filter(line => theirs.includes(line)))
  const lines = [...mine, ...theirs].filter(line => !both.has(line)).map(readBucketLine)
  const counting = lines.filter(([, , , , gen]) => gen === null || !ended(gen, now))
  const keys = counting.flatMap(([kind, pk, sk]) =>
    Object.hasOwn(kinds, kind) ? [{ kind: kind as Key['kind'], pk, sk }] : [],
  )
  return [...new Map(keys.map(one => [`${one.pk}\n${one.sk}`, one])).values()]
}

const isIn = (bucket: { pk: string; sk: string }, life: string, { kind, pk, sk }: Key): boolean =>
  bucketText(bucketOf(life, kind, pk, sk)) === bucketText(bucket)

/** Those of the keys whose items stay different once this cluster has applied all that the primary had then. */
async function realOf({ journal, clock, now, link }: Beside, keys: readonly Key[]): Promise<Place[]> {
  const first = await link.items({ keys })
  await caughtUp({ journal, clock }, first.seq)
  const own = await journal.raw(keys)
  const second = await link.items({ keys })
  return keys.filter((_, index) => {
    const theirs = second.items[index]
    const isStill = theirs?.rev === first.items[index]?.rev && theirs?.pos === first.items[index]?.pos
    return isStill && !agree(own[index], theirs, now)
  })
}

function agree(own: StoredItem | undefined, theirs: StoredItem | undefined, now: number): boolean {
  if (own && theirs) return theirs.leaf === undefined || leafOf(own) === leafOf(theirs)
  const one = own ?? theirs
  return one === undefined || (one.ttl !== undefined && ended(generationOfTtl(one.ttl), now))
}

const PATIENCE_MS = 30_000
const EVERY_MS = 200

async function caughtUp({ journal, clock }: Pick<Beside, 'journal' | 'clock'>, seq: number): Promise<void> {
  const end = clock.now() + PATIENCE_MS
  for (;;) {
    const head = await journal.head()
    if (head?.mode === 'applying' && head.until === 0 && head.done >= seq) return
    if (clock.now() > end) throw new Error('this secondary does not keep up with its primary')
    await clock.sleep(EVERY_MS)
  }
}
