import { ApiError } from '../../../api/errors.ts'
import { generationOfExpiry, ttlOfGeneration } from '../../../journal/generation.ts'
import {
  type ItemTest,
  itemPlaceText,
  type Journal,
  type TransactionOutcome,
} from '../../../journal/journal.ts'
import { createNoopEntry, type EntryChange } from '../../../journal/journal-entry.ts'
import { bucketMarkText, type JournalPosition, positionText } from '../../../journal/position.ts'
import {
  addTreeBucket,
  computeBucketDeltas,
  computeItemLeaf,
  readStoredLeaf,
  readStoredLeafInTree,
  type TreeLeaf,
} from '../../../journal/tree.ts'
import type { ClusterRead } from '../../../ports.ts'
import type { Change } from '../../../storage/changes.ts'
import { type Item, itemKindSpec, type Kind } from '../../../storage/kinds.ts'
import {
  itemAsStored,
  newRevision,
  type StoredItem,
  toItemWrite,
  toStoredItem,
  ttlWithoutJournal,
} from '../../../storage/requests.ts'
import { CONFLICT_RESULT, failed, ok, PENDING_RESULT, type Result } from '../../../values/result.ts'
import { type CommitChanges, checkRecordTimeLeft } from './commit.ts'
import { MAX_STORAGE_TRIES, retryWhileBusy, type StorageEngine } from './engine.ts'
import { journalEndedError, storageBusyError } from './faults.ts'
import { type TransactionPart, writeTransaction } from './transaction.ts'

/** The number of positions that a commit may use while buckets are contended or DynamoDB is busy. */
const POSITIONS = 5
/** The number of tries to settle a position while other writes to it are in progress. */
const SETTLINGS = 6

/**
 * The outcome of an attempt of a journaled commit. The faults of an attempt lead to another attempt: after
 * `assumption`, the assumed items are read again, because one of them has changed; after `pending`, nothing is
 * read. `conflict` is not a fault: an item that the caller read has changed.
 */
type Outcome = Result<'done' | 'conflict', 'assumption' | 'pending'>

interface Attempt {
  planned: readonly PlannedItemChange[]
  /** `own`: changes of this cluster's own tables, in the same transaction, but not in the journal entry */
  own: readonly Change[]
  rev: string
  epoch: string
  treeId: string
}

/** The dependencies of the writer for journaled commits. */
interface Writing {
  readonly engine: StorageEngine
  readonly journal: Pick<Journal, 'head' | 'allocate' | 'putEntry' | 'readRaw'>
}

/** The items that a commit has read itself, by `itemPlaceText`. */
type Seen = Map<string, ReadItem>

/**
 * Writes while a journal is kept: allocates a position by an update of the head, then runs one transaction with the
 * items, the journal entry with all their changes, and the sums of their buckets. A position is never left open: if
 * the transaction fails, the writer closes its position with an empty entry before it tries anything else.
 * @see docs/spec/journal.md#a-journaled-commit
 */
export const createJournaledWriter = (
  engine: StorageEngine,
  journal: Writing['journal'],
): { commit: CommitChanges; backfill: Journal['backfill'] } => ({
  commit: (...given) => commitJournaled({ engine, journal }, ...given),
  backfill: (...given) => backfillItems({ engine, journal }, ...given),
})

async function commitJournaled(
  writing: Writing,
  ...[changes, cluster, { tries: most = POSITIONS }]: Parameters<CommitChanges>
): Promise<'done' | 'conflict'> {
  const { engine } = writing
  const { epoch = '', treeId = '' } = cluster.record
  const data = changes.filter(change => itemKindSpec(change.key.kind).table === 'data')
  const own = changes.filter(change => !data.includes(change))
  const rev = newRevision(engine.entropy)
  const seen: Seen = new Map()
  let failedAttempts = 0
  let changedAssumptions = 0
  while (failedAttempts < most && changedAssumptions < MAX_STORAGE_TRIES) {
    checkRecordTimeLeft(engine, cluster)
    const found = await planChanges(writing, data, { treeId, rev, now: engine.seconds() }, seen)
    if (found.includes('conflict')) return 'conflict'
    const planned = found.filter(plan => typeof plan === 'object')
    if (planned.length === 0 && own.length === 0) return 'done'
    const outcome = await attempt(writing, { planned, own, rev, epoch, treeId })
    if (outcome.ok) return outcome.value
    if (outcome.fault === 'assumption') {
      changedAssumptions += 1
      const assumed = data.filter((_, index) => assumes(found[index]))
      await readItems(writing, assumed, seen)
    } else failedAttempts += 1
    await engine.pause(failedAttempts + changedAssumptions)
  }
  throw storageBusyError()
}

/** Adds items that were written without a journal to journal and tree. */
async function backfillItems(
  writing: Writing,
  items: readonly StoredItem[],
  cluster: ClusterRead,
): Promise<'done' | 'conflict'> {
  const { engine } = writing
  const { epoch = '', treeId = '' } = cluster.record
  const rev = newRevision(engine.entropy)
  const once = async (): Promise<Outcome> => {
    checkRecordTimeLeft(engine, cluster)
    const planned = items.map(item => planBackfill(item, { treeId, rev, now: engine.seconds() }))
    return attempt(writing, { planned, own: [], rev, epoch, treeId })
  }
  return retryWhileBusy(engine, once, POSITIONS)
}

async function attempt(writing: Writing, wanted: Attempt): Promise<Outcome> {
  const { engine, journal } = writing
  const { planned, own, rev, epoch, treeId } = wanted
  const given = await journal.allocate(epoch)
  if (given === 'refused') {
    const head = await journal.head()
    // The items may be unchanged, so reading them again would not help. The cluster record changes only a moment
    // after the journal.
    if (head?.mode === 'closed' && head.epoch === epoch) throw journalEndedError()
    return ok('conflict')
  }
  const position = { epoch, seq: given.seq }
  const now = engine.seconds()
  const body = planned.map(one => changeOf(one, position))
  const mark = bucketMarkText(given.incarnation, positionText(position))
  const parts: TransactionPart[] = [
    ...planned.map((one, index) => partOf(one, body[index]?.item ?? null, treeId)),
    ...own.map(change => ({ kind: 'write' as const, write: toItemWrite(change, rev, engine.tables, now) })),
    { kind: 'entry', entry: { ...position, id: rev, at: engine.clock.now(), body } },
    ...computeBucketDeltas(treeId, body, now).map(delta => ({ ...delta, mark })),
  ]
  const verdict = await writeTransaction(engine, parts).catch(conflictIfBusy)
  if (verdict === 'done' || (await settlePosition(writing, position, rev)) === 'ours') return ok('done')
  if (typeof verdict !== 'object') return PENDING_RESULT
  const refused = verdict.condition.filter(index => index < planned.length + own.length)
  if (refused.length === 0) return PENDING_RESULT
  return refused.every(index => planned[index]?.assumed) ? failed('assumption') : ok('conflict')
}

/** Closes the position of a failed commit, or finds that the commit took effect. */
async function settlePosition(
  { engine, journal }: Writing,
  position: JournalPosition,
  rev: string,
): Promise<'ours' | 'closed'> {
  const once = async (): Promise<Result<'ours' | 'closed', 'conflict'>> => {
    const result = await journal.putEntry(createNoopEntry(position, engine.clock.now()))
    if (result === 'conflict') return CONFLICT_RESULT
    return ok(result !== 'done' && result.id === rev ? 'ours' : 'closed')
  }
  return retryWhileBusy(engine, once, SETTLINGS)
}

/** Plans all changes of a commit. Items that the plans depend on are read once, together. */
async function planChanges(writing: Writing, changes: readonly Change[], context: CommitContext, seen: Seen) {
  const judge = () => changes.map(change => planChange(change, context, seen.get(itemPlaceText(change.key))))
  const first = judge()
  const unknown = changes.filter((_, index) => first[index] === 'look')
  if (unknown.length === 0) return first
  await readItems(writing, unknown, seen)
  return judge()
}

async function readItems({ journal }: Writing, changes: readonly Change[], seen: Seen): Promise<void> {
  const keys = changes.map(({ key }) => key)
  const items = await journal.readRaw(keys)
  for (const [index, key] of keys.entries()) seen.set(itemPlaceText(key), { item: items[index] })
}

const assumes = (plan: ReturnType<typeof planChange> | undefined): boolean =>
  plan === 'nothing' || (typeof plan === 'object' && plan.assumed)

/**
 * Converts `busy` to a conflict, because a transaction without an answer may have taken effect, or may still do so.
 */
function conflictIfBusy(error: unknown): TransactionOutcome {
  if (error instanceof ApiError && error.code === 'busy') return 'conflict'
  throw error
}

function changeOf({ kind, pk, sk, prev, next }: PlannedItemChange, position: JournalPosition): EntryChange {
  const item = next && { ...next, pos: positionText(position), leaf: computeItemLeaf(next) }
  return { kind, pk, sk, prev, next: item && readStoredLeaf(item), item }
}

/** Returns an item as one part of the transaction. */
function partOf(
  { kind, pk, sk, if: condition, counts }: PlannedItemChange,
  item: StoredItem | null,
  treeId: string,
): TransactionPart {
  const put = item && addTreeBucket(item, treeId)
  return counts && put
    ? { kind: 'count', count: put, if: condition }
    : { kind: 'item', item: { kind, pk, sk }, put, if: condition }
}

/** The planned change of one item, with all that the journal records of the item. */
export interface PlannedItemChange {
  readonly kind: Kind
  readonly pk: string
  readonly sk: string
  /** `prev` is the leaf of the stored item in the tree */
  readonly prev: TreeLeaf | null
  /** `next` is the item after the change, without position, leaf and bucket; null: the change deletes the item */
  readonly next: StoredItem | null
  readonly if: ItemTest
  /**
   * The stored item was read here, or is assumed. If the stored item is different, the writer reads it again, and
   * the caller sees no conflict.
   */
  readonly assumed: boolean
  /** `counts`: only the counter changes, by an update of that attribute, because some functions are granted no more */
  readonly counts: boolean
}

/** `look`: the writer must read the stored item first. `nothing`: the change has no effect. */
type Plan = PlannedItemChange | 'look' | 'nothing' | 'conflict'

/** A stored item that was read; absent: the writer has not read it yet. */
export type ReadItem = { readonly item: StoredItem | undefined }

/** The tree and the commit that a change is planned for. */
interface CommitContext {
  readonly treeId: string
  /** time of the commit */
  readonly rev: string
  /** epoch seconds */
  readonly now: number
}

/**
 * Returns an item as stored while a journal is kept: DynamoDB deletes an item that dies after its generation has
 * ended, and no other item.
 */
function stampGeneration(item: StoredItem, now: number): StoredItem {
  const { ttl: _ttl, pos: _pos, leaf: _leaf, bucket: _bucket, ...content } = item
  const generation = itemKindSpec(item.kind).expiry === 'dies' ? generationOfExpiry(item.expires, now) : null
  return generation === null ? content : { ...content, ttl: ttlOfGeneration(generation) }
}

/** Returns an item as stored while no journal is kept. */
export function stripJournalAttributes(item: StoredItem): StoredItem {
  const { ttl: _ttl, pos: _pos, leaf: _leaf, bucket: _bucket, ...content } = item
  const ttl = itemKindSpec(item.kind).expiry === 'dies' ? ttlWithoutJournal(item.expires) : undefined
  return ttl === undefined ? content : { ...content, ttl }
}

const isDead = ({ kind, expires }: StoredItem, now: number): boolean =>
  itemKindSpec(kind).expiry === 'dies' && expires !== undefined && expires <= now

/** Plans a change from the item that the caller has read, or that the writer has read since. */
function planChange(change: Change, context: CommitContext, seen: ReadItem | undefined): Plan {
  const { kind, pk, sk } = change.key
  const { expected } = change
  const plan = (old: StoredItem | undefined, prev: TreeLeaf | null, assumed: boolean): Plan => {
    const next = nextOf(change, old, context)
    if (next === null && !old) return 'nothing'
    return {
      kind,
      pk,
      sk,
      prev,
      next,
      if: old ? { rev: old.rev } : 'absent',
      assumed,
      counts: change.kind === 'count',
    }
  }
  const planFromRead = (assumed: boolean): Plan => {
    const old = seen?.item
    return plan(old, old ? readStoredLeafInTree(old, context.treeId) : null, assumed)
  }
  if (expected === 'any') return seen ? planFromRead(true) : 'look'
  if (expected === 'absent') {
    const dies = itemKindSpec(kind).expiry === 'dies'
    if (!seen) return plan(undefined, null, dies)
    return seen.item && !isDead(seen.item, context.now) ? 'conflict' : planFromRead(true)
  }
  const { inTree, rev, orAbsent = false } = expected
  if (seen) {
    const isFound = seen.item ? seen.item.rev === rev : orAbsent
    return isFound ? planFromRead(false) : 'conflict'
  }
  const prev = inTree ? readStoredLeafInTree(inTree, context.treeId) : null
  if (!inTree || !prev) return 'look'
  if (change.kind !== 'count') return plan({ kind, pk, sk, rev, data: null, ...inTree }, prev, orAbsent)
  const old = itemAsStored(change.key as Item)
  // The stored copy may have another form than the form that this version writes.
  return computeItemLeaf(old) === prev.leaf ? plan(old, prev, false) : 'look'
}

function nextOf(change: Change, old: StoredItem | undefined, { rev, now }: CommitContext): StoredItem | null {
  if (change.kind === 'put') return stampGeneration(toStoredItem(change, rev), now)
  if (change.kind === 'count') return old ? stampGeneration({ ...old, uses: change.left, rev }, now) : null
  return null
}

/**
 * Plans the backfill of an item that was written without a journal: its content stays, and it gets a place in the
 * tree.
 */
const planBackfill = (item: StoredItem, { rev, now, treeId }: CommitContext): PlannedItemChange => ({
  kind: item.kind,
  pk: item.pk,
  sk: item.sk,
  prev: readStoredLeafInTree(item, treeId),
  next: { ...stampGeneration(item, now), rev },
  if: { rev: item.rev },
  assumed: false,
  counts: false,
})
