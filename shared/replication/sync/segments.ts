import type { ItemPlace, TransactionElement } from '../../journal/journal.ts'
import {
  addTreeBucket,
  computeBucketDeltas,
  readStoredLeaf,
  readStoredLeafInTree,
} from '../../journal/tree.ts'
import type { SourceLink } from '../../link/source-link.ts'
import type { SyncSegment } from '../../model/secondary.ts'
import { key } from '../../storage/kinds.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { splitIntoBatches } from '../../values/batches.ts'
import { CONFLICT_RESULT, ok, type Result } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { pickItemPlace } from '../apply/judge.ts'
import { type FollowingPorts, pauseBeforeRetry } from '../apply/window.ts'

const SEGMENTS = 16
/** Maximum size of the items in one transaction, bytes; DynamoDB allows 4 MiB. */
const LARGEST = 2 ** 21

const keyOf = (index: number) => key('segment', String(index))

/** A segment as it was read. Writes of the sync require this revision of the segment. */
export interface HeldSyncSegment {
  readonly index: number
  /** `rev` is absent if the segment was never written */
  readonly rev: string | undefined
  readonly data: SyncSegment | undefined
}

export async function readSyncSegments({ journal }: FollowingPorts): Promise<HeldSyncSegment[]> {
  const found = await journal.readRaw(Array.from({ length: SEGMENTS }, (_, index) => keyOf(index)))
  return found.map((item, index) => ({
    index,
    rev: item?.rev,
    data: item?.data as SyncSegment | undefined,
  }))
}

/**
 * Returns the transaction element that every write of a sync contains: it replaces a segment that is unchanged since it was
 * read.
 */
function nextElement(
  own: FollowingPorts,
  { index, rev }: HeldSyncSegment,
  data: SyncSegment,
): { element: TransactionElement; held: HeldSyncSegment } {
  const next = own.entropy.bytes(12).toString('base64url')
  const item: StoredItem = { ...keyOf(index), rev: next, data }
  return {
    element: { kind: 'item', item: keyOf(index), put: item, if: rev === undefined ? 'absent' : { rev } },
    held: { index, rev: next, data },
  }
}

/** Opens all segments for a sync. After opening, the segments reject writes of an earlier sync. */
export async function openSyncSegments(
  own: FollowingPorts,
  segment: SyncSegment,
): Promise<HeldSyncSegment[] | 'lost'> {
  const before = await readSyncSegments(own)
  const later = before.some(
    ({ data }) => data?.treeId === segment.treeId && data.incarnation >= segment.incarnation,
  )
  if (later) return 'lost'
  const next = before.map(held => nextElement(own, held, segment))
  const result = await transactWithRetry(own, () => own.journal.transact(next.map(({ element }) => element)))
  return result === 'done' ? next.map(({ held }) => held) : 'lost'
}

/** Closes segments that are unchanged since they were read. Later writes with these segments are rejected. */
export async function closeSyncSegments(
  own: FollowingPorts,
  segments: readonly HeldSyncSegment[],
): Promise<void> {
  const elements = segments.flatMap(held =>
    held.data ? [nextElement(own, held, { ...held.data, phase: 'closed' }).element] : [],
  )
  await transactWithRetry(own, () => own.journal.transact(elements))
}

/** Records in the closed segments that their items have been compared. */
export async function noteSegmentsCompared(own: FollowingPorts): Promise<void> {
  const elements = (await readSyncSegments(own)).flatMap(held => {
    if (held.data?.phase !== 'closed') return []
    const { compare: _, ...data } = held.data
    return [nextElement(own, held, data).element]
  })
  if (elements.length === SEGMENTS) await transactWithRetry(own, () => own.journal.transact(elements))
}

const SEGMENT_WRITE_TRIES = 12

/** Repeats a transaction after a conflict with another writer. */
async function transactWithRetry(
  own: FollowingPorts,
  write: () => ReturnType<FollowingPorts['journal']['transact']>,
) {
  const result = await retryOnConflict(
    { tries: SEGMENT_WRITE_TRIES, pause: tried => pauseBeforeRetry(own, tried) },
    async () => {
      const written = await write()
      return written === 'conflict' ? CONFLICT_RESULT : ok(written)
    },
  )
  return result.ok ? result.value : result.fault
}

interface SegmentWork {
  own: FollowingPorts
  link: SourceLink
  /** the keys of a partial sync */
  keys: readonly ItemPlace[]
  /** `fresh`: whether no sync ever fetched into this tree, so that this cluster has no items of its own */
  fresh: boolean
  hasTime: () => boolean
  /** `prepare` is called before items are stored: it fetches the terms that encrypt these items */
  prepare: (items: readonly StoredItem[]) => Promise<void>
  /** `seen` is called after each page */
  seen: (keys: number) => void
}

/**
 * Syncs a segment page by page, and closes the segment. The closed segment rejects late writes of this sync.
 */
export async function fetchSyncSegment(
  work: SegmentWork,
  first: HeldSyncSegment,
): Promise<'closed' | 'lost' | 'time'> {
  let held = first
  for (;;) {
    const { data } = held
    if (!data) return 'lost'
    if (data.phase === 'closed') return 'closed'
    if (!work.hasTime()) return 'time'
    const { wanted, next } = await fetchPage(work, held.index, data)
    await work.prepare(wanted.flatMap(({ item }) => item ?? []))
    const written = await writePage(work, held, wanted, next)
    if (written === 'lost') return 'lost'
    work.seen(next.seen - data.seen)
    held = written
  }
}

interface FetchedPage {
  wanted: Wanted[]
  /** `next` is the segment after this page */
  next: SyncSegment
}

function fetchPage(work: SegmentWork, index: number, segment: SyncSegment): Promise<FetchedPage> {
  if (segment.scope === 'touched') return fetchTouched(work, index, segment)
  return segment.phase === 'source' ? fetchFromSource(work, index, segment) : compareOwn(work, index, segment)
}

/** Omits items that are not in the source's tree yet. The journal entry of an omitted item comes later. */
const withLeaf = (item: StoredItem | undefined) => (item?.leaf === undefined ? undefined : item)

async function fetchTouched(
  { link, keys }: SegmentWork,
  index: number,
  segment: SyncSegment,
): Promise<FetchedPage> {
  const mine = keys.filter((_, at) => at % SEGMENTS === index)
  const some = mine.slice(segment.seen, segment.seen + PAGE)
  const { items } = some.length > 0 ? await link.items({ keys: some }) : { items: [] }
  const seen = segment.seen + some.length
  return {
    wanted: some.map((place, at) => ({ place, item: withLeaf(items[at]) })),
    next: { ...segment, seen, phase: seen < mine.length ? 'source' : 'closed' },
  }
}

async function fetchFromSource(
  { link, fresh }: SegmentWork,
  index: number,
  segment: SyncSegment,
): Promise<FetchedPage> {
  const { cursor, ...rest } = segment
  const { items, next } = await link.scan({ segment: index, segments: SEGMENTS, cursor })
  const seen = segment.seen + items.length
  const wanted = items.flatMap(item => (withLeaf(item) ? [{ place: pickItemPlace(item), item }] : []))
  if (next) return { wanted, next: { ...rest, seen, cursor: next } }
  return { wanted, next: { ...rest, seen, phase: fresh ? 'closed' : 'own' } }
}

/** Finds items that only this cluster has, and items that the source has changed meanwhile. */
async function compareOwn(
  { own, link }: SegmentWork,
  index: number,
  segment: SyncSegment,
): Promise<FetchedPage> {
  const { cursor, ...rest } = segment
  const { items, next } = await own.journal.scan({ index, of: SEGMENTS, from: cursor })
  const keys = items.map(pickItemPlace)
  const theirs = keys.length > 0 ? (await link.items({ keys })).items : []
  const wanted = items.flatMap((mine, at) => {
    const item = withLeaf(theirs[at])
    return item?.rev === mine.rev ? [] : [{ place: pickItemPlace(mine), item }]
  })
  return { wanted, next: next ? { ...rest, cursor: next } : { ...rest, phase: 'closed' } }
}

/** Writes a page of items in batches. The last batch of a page also moves the segment on. */
async function writePage(
  work: SegmentWork,
  first: HeldSyncSegment,
  wanted: readonly Wanted[],
  next: SyncSegment,
): Promise<HeldSyncSegment | 'lost'> {
  let held = first
  const batches = splitIntoBatches(wanted, { elements: PAGE, bytes: LARGEST })
  for (const [index, some] of (batches.length > 0 ? batches : [[]]).entries()) {
    const data = index >= batches.length - 1 ? next : held.data
    if (!data) return 'lost'
    const written = await writeSome(work.own, held, some, data)
    if (written === 'lost') return 'lost'
    held = written
  }
  return held
}

async function writeSome(
  own: FollowingPorts,
  held: HeldSyncSegment,
  wanted: readonly Wanted[],
  data: SyncSegment,
): Promise<HeldSyncSegment | 'lost'> {
  const written = await retryOnConflict(
    { tries: SEGMENT_WRITE_TRIES, pause: tried => pauseBeforeRetry(own, tried) },
    async (): Promise<Result<HeldSyncSegment | 'lost', 'conflict'>> => {
      const mine = wanted.length > 0 ? await own.journal.readRaw(wanted.map(({ place }) => place)) : []
      const next = nextElement(own, held, data)
      const now = Math.floor(own.clock.now() / 1000)
      const elements = [next.element, ...toPageElements(data.treeId, wanted, mine, now)]
      const result = await own.journal.transact(elements)
      if (result === 'done') return ok(next.held)
      return result !== 'conflict' && result.condition.includes(0) ? ok('lost') : CONFLICT_RESULT
    },
  )
  return written.ok ? written.value : 'lost'
}

/** An item as the source has it; undefined: the source does not have the item. */
interface Wanted {
  readonly place: ItemPlace
  readonly item: StoredItem | undefined
}

/**
 * Number of items in one transaction of a sync. Each item may need a bucket element too, and the segment is one
 * more element.
 */
const PAGE = 48

/**
 * Returns the transaction elements that make items equal to the source's items. The transaction expects every item
 * as it was read, including unchanged items, because the read may be outdated. The sync keeps the buckets' marks,
 * because it applies no journal entry.
 * @param own this cluster's stored items, in the same order
 * @param now epoch seconds
 */
export function toPageElements(
  treeId: string,
  wanted: readonly Wanted[],
  own: readonly (StoredItem | undefined)[],
  now: number,
): TransactionElement[] {
  const pairs = wanted.map(({ place, item }, index) => ({ place, item, own: own[index] }))
  const items = pairs.map(one => itemElement(treeId, one))
  const changes = pairs
    .filter(one => !isSame(treeId, one))
    .map(({ place: { kind, pk, sk }, item, own: mine }) => ({
      kind,
      pk,
      sk,
      prev: mine ? readStoredLeafInTree(mine, treeId) : null,
      next: item ? readStoredLeaf(item) : null,
    }))
  const buckets = computeBucketDeltas(treeId, changes, now).filter(({ sums }) => sums.size > 0)
  return [...items, ...buckets]
}

interface Pair extends Wanted {
  readonly own: StoredItem | undefined
}

const isSame = (treeId: string, { item, own }: Pair): boolean =>
  item && own
    ? item.rev === own.rev && item.pos === own.pos && readStoredLeafInTree(own, treeId)?.leaf === item.leaf
    : item === own

function itemElement(treeId: string, pair: Pair): TransactionElement {
  const { place, item, own } = pair
  const found = own ? { rev: own.rev } : 'absent'
  if (isSame(treeId, pair)) return { kind: 'check', check: place, if: found }
  return { kind: 'item', item: place, put: item ? addTreeBucket(item, treeId) : null, if: found }
}
