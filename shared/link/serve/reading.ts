import { formatBucketLine } from '../../journal/bucket-line.ts'
import type { JournalHead } from '../../journal/head.ts'
import type { Journal } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { compareLineages, isSameLineage } from '../../journal/position.ts'
import { headMoves } from '../../journal/transitions.ts'
import { liveTotalText, treePageNames } from '../../journal/tree.ts'
import type { StoredItem } from '../../storage/requests.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import { lineageChangingError, noPrimaryJournalError, unknownTreePageError } from '../refusals.ts'
import type {
  EntriesAnswer,
  EntriesRequest,
  ItemsAnswer,
  ItemsRequest,
  ScanAnswer,
  ScanRequest,
  TreeAnswer,
  TreeRequest,
} from '../source.ts'

/**
 * Maximum bytes of one message before it is encoded. A message of this size still fits into an answer of an HTTP
 * API when it is encoded.
 */
const LARGEST = 3 * 2 ** 20
/** Number of journal entries that one read returns. */
const RUN = 100

/**
 * Returns the head of a journal that other clusters may read.
 * @throws LinkRefused
 */
export async function readServingHead(journal: Pick<Journal, 'head'>): Promise<JournalHead> {
  const head = await journal.head()
  if (head && (head.mode === 'writing' || head.mode === 'closed') && head.epoch === head.ownEpoch) return head
  throw noPrimaryJournalError()
}

/**
 * Returns journal entries after a position, without gaps. The lineage must be the same before and after the entries
 * were read. The handler first stores the end of the entries in the head, so that the frontier in status is never
 * below the position that a secondary has received.
 */
export async function serveJournalEntries(
  journal: Pick<Journal, 'head' | 'entries' | 'moveHead'>,
  { lineage, after: from, maxBytes }: EntriesRequest,
): Promise<EntriesAnswer> {
  const head = await readServingHead(journal)
  const { forkPoint, diverged } = compareLineages({ lineage: head.lineage }, { lineage, last: from })
  if (diverged) return { kind: 'diverged', forkPoint }
  if (from < head.retainedFrom) return { kind: 'trimmed', retainedFrom: head.retainedFrom }
  const found = await readDenseEntries(journal, head, from, Math.min(maxBytes, LARGEST))
  const after = await readServingHead(journal)
  if (!isSameLineage(head.lineage, after.lineage)) throw lineageChangingError()
  const frontier = from + found.length
  if (from <= after.applied) await noteDense(journal, after, frontier)
  return { kind: 'entries', entries: found, lineage: head.lineage, frontier }
}

const NOTINGS = 3

/** Stores that no journal entry is missing up to a position, unless the head already says so. */
async function noteDense(
  journal: Pick<Journal, 'head' | 'moveHead'>,
  seen: JournalHead,
  frontier: number,
): Promise<void> {
  let head: JournalHead | undefined = seen
  await retryOnConflict({ tries: NOTINGS }, async () => {
    if (head?.mode !== 'writing' || head.epoch !== seen.epoch || head.applied >= frontier) return ok()
    if ((await journal.moveHead(headMoves.noteDense(head, frontier))) !== 'refused') return ok()
    head = await journal.head()
    return CONFLICT_RESULT
  })
}

async function readDenseEntries(
  journal: Pick<Journal, 'entries'>,
  { lineage, last }: JournalHead,
  from: number,
  bytes: number,
): Promise<JournalEntry[]> {
  const found: JournalEntry[] = []
  let size = 0
  for (let after = from; after < last; after += RUN) {
    for (const entry of await journal.entries(lineage, after, Math.min(after + RUN, last))) {
      if (!entry) return found
      size += sizeOf(entry.body)
      if (found.length > 0 && size > bytes) return found
      found.push(entry)
    }
  }
  return found
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/**
 * Returns as many of the items as one message can contain. The handler reads the head after the items, so the head
 * is valid for all of them.
 */
export async function serveItems(
  journal: Pick<Journal, 'head' | 'readRaw'>,
  { keys }: ItemsRequest,
): Promise<ItemsAnswer> {
  const all = await journal.readRaw(keys)
  const { last, lineage, epoch } = await readServingHead(journal)
  return { items: takeWithinBytes(all, LARGEST), seq: last, lineage, epoch }
}

/** Returns the first elements that together have at most the given number of bytes, but at least one element. */
function takeWithinBytes(
  all: readonly (StoredItem | undefined)[],
  bytes: number,
): (StoredItem | undefined)[] {
  let size = 0
  const end = all.findIndex((item, index) => {
    size += item ? sizeOf(item) : 0
    return index > 0 && size > bytes
  })
  return end < 0 ? [...all] : all.slice(0, end)
}

/** Returns a page of a segment of all items. */
export async function serveTableScan(
  journal: Pick<Journal, 'scan'>,
  { segment, segments, cursor }: ScanRequest,
  frontier: number,
): Promise<ScanAnswer> {
  const page = await journal.scan({ index: segment, of: segments, from: cursor })
  return { items: page.items, frontier, ...(page.next ? { next: page.next } : {}) }
}

const PAGE = /^([rl]#[0-9a-f]{2})(?:\/([0-9a-f]{2}))?$/

/**
 * Returns hashes of the tree. `root`: the stored hashes of all pages of both subtrees, in order. `page`: the totals
 * of the page's buckets, in order; empty for a bucket without items. `bucket`: the bucket's items, each as a
 * `BucketLine`; the index that lists them may be seconds behind.
 * @param treeId id of this cluster's tree
 * @param now epoch milliseconds
 */
export async function serveTreeHashes(
  journal: Pick<Journal, 'page' | 'pageHashes' | 'readBucketItems'>,
  { level, page }: TreeRequest,
  treeId: string,
  now: number,
): Promise<TreeAnswer> {
  if (level === 'root') {
    const both = await Promise.all(['r', 'l'].map(async side => readHashes(journal, `t#${treeId}#${side}`)))
    return { hashes: both.flat() }
  }
  const [, name, sub] = PAGE.exec(page ?? '') ?? []
  if (name === undefined || (sub === undefined) !== (level === 'page')) throw unknownTreePageError()
  const pk = `t#${treeId}#${name}`
  if (sub !== undefined)
    return { hashes: (await journal.readBucketItems({ pk, sk: sub }, [])).map(formatBucketLine) }
  const buckets = await journal.page(pk)
  const sums = treePageNames.map(sk =>
    liveTotalText(buckets.get(sk)?.sums ?? new Map(), Math.floor(now / 1000)),
  )
  return { hashes: sums }
}

async function readHashes(journal: Pick<Journal, 'pageHashes'>, subtree: string): Promise<string[]> {
  const stored = await journal.pageHashes(`${subtree}#root`)
  return treePageNames.map(page => stored.get(page)?.hash ?? '')
}
