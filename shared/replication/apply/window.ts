import {
  type ItemPlace,
  itemPlaceText,
  type Journal,
  type TransactionElement,
} from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { bucketMarkText, positionText } from '../../journal/position.ts'
import { treeBucketOf, treeBucketText } from '../../journal/tree.ts'
import type { Clock, Entropy } from '../../ports.ts'
import { mapInParallel } from '../../values/in-parallel.ts'
import { CONFLICT_RESULT, ok } from '../../values/result.ts'
import { retryOnConflict } from '../../values/retrying.ts'
import {
  type ApplyJudgement,
  type ApplySettings,
  type BucketChanges,
  type BucketWrite,
  type DatedChange,
  type ItemWriteStep,
  judgeBucketChanges,
  planBucketWrite,
  type StoredBucketState,
} from './judge.ts'

/** The storage of this cluster as the applier uses it. */
export interface ApplyTarget {
  /** `find` reads the stored state for pieces, in their order */
  find(pieces: readonly BucketChanges[]): Promise<StoredBucketState[]>
  /** `write` runs one transaction; after `conflict` it is unknown whether the write would succeed */
  write(steps: readonly BucketWrite[]): Promise<'done' | 'refused' | 'conflict'>
  /** `pause` waits before another try */
  pause(tries: number): Promise<void>
}

/**
 * The result of applying a window. `busy`: other writers conflicted. `mismatch`: items that are not as the journal entries
 * expect.
 */
export type AppliedWindow = { readonly busy: boolean; readonly mismatch: readonly ItemPlace[] }

const WORKERS = 8
/**
 * All tries of a transaction together take some seconds. After some seconds a hanging transaction is decided, and
 * its result is visible.
 */
const APPLY_TRIES = 16

/**
 * Applies the journal entries of a window. The function may run any number of times, also concurrently and in
 * processes that were frozen meanwhile, because marks record what is applied and reject outdated writes.
 */
export async function applyEntryWindow(
  entries: readonly JournalEntry[],
  setting: ApplySettings,
  target: ApplyTarget,
): Promise<AppliedWindow> {
  let components = splitEntriesIntoComponents(setting.treeId, entries).map(component =>
    splitIntoRuns(component, setting.replayUntil),
  )
  const mismatch: ItemPlace[] = []
  let busy = false
  // apply the first run of each component in parallel, then the second run of each, and so on
  for (let round = 0; components.length > 0; round++) {
    const runs = components.flatMap(component => component.slice(round, round + 1))
    const stuck = new Set<Component>()
    await mapInParallel(
      packEntryComponents(runs, WORKERS),
      async pack => {
        for (const { run, wrong } of await applyPack(pack, setting, target)) {
          stuck.add(run)
          mismatch.push(...wrong)
          if (wrong.length === 0) busy = true
        }
      },
      WORKERS,
    )
    components = components.filter(all => all.length > round + 1 && !all.some(one => stuck.has(one)))
  }
  return { busy, mismatch }
}

/** Consecutive pieces of one bucket that are not applied yet. */
interface UnappliedRun {
  run: Component
  /** `wrong` has the mismatching items; empty if only the write failed */
  wrong: readonly ItemPlace[]
}

/** Applies runs in one transaction. If one run conflicts, the function applies the other runs anyway. */
async function applyPack(
  pack: readonly Component[],
  setting: ApplySettings,
  target: ApplyTarget,
): Promise<UnappliedRun[]> {
  if (pack.every(run => run.every(piece => piece.seq > setting.replayUntil))) {
    const written = await target.write(pack.map(run => planBucketWrite(mergePieces(run), setting)))
    if (written === 'done') return []
  }
  let left: UnappliedRun[] = pack.map(run => ({ run, wrong: [] }))
  await retryOnConflict({ tries: APPLY_TRIES, pause: target.pause }, async () => {
    left = await tryOnce(left, setting, target)
    return left.length > 0 ? CONFLICT_RESULT : ok()
  })
  return left
}

async function tryOnce(
  left: readonly UnappliedRun[],
  setting: ApplySettings,
  target: ApplyTarget,
): Promise<UnappliedRun[]> {
  const wholes = left.map(({ run }) => mergePieces(run))
  const found = await target.find(wholes)
  const judged = left.map(({ run }, index) => ({
    run,
    verdict: judgeRemaining(run, wholes[index]?.changes ?? [], found[index], setting),
  }))
  const wrong = judged.flatMap(({ run, verdict }) =>
    verdict.kind === 'mismatch' ? [{ run, wrong: verdict.places }] : [],
  )
  const right = judged.flatMap(({ run, verdict }) =>
    verdict.kind === 'write' ? [{ run, steps: verdict.steps }] : [],
  )
  if (right.length === 0) return wrong
  const written = await target.write(right.map(({ steps }) => steps))
  return written === 'done' ? wrong : [...wrong, ...right.map(({ run }) => ({ run, wrong: [] }))]
}

/** Judges the part of a run that is not applied yet. */
function judgeRemaining(
  run: Component,
  changes: readonly DatedChange[],
  { items, mark }: StoredBucketState = { items: [], mark: '' },
  setting: ApplySettings,
): ApplyJudgement {
  const rest = run.filter(({ pos }) => bucketMarkText(setting.incarnation, pos) > mark)
  if (rest.length === 0) return { kind: 'applied' }
  const own = new Map(changes.map((change, index) => [itemPlaceText(change), items[index]]))
  const whole = mergePieces(rest)
  return judgeBucketChanges(
    whole,
    { items: whole.changes.map(change => own.get(itemPlaceText(change))), mark },
    setting,
  )
}

/** The ports of this cluster that following uses. */
export interface FollowingPorts {
  journal: Journal
  clock: Clock
  entropy: Pick<Entropy, 'bytes' | 'uuid'>
}

const LONGEST_PAUSE = 1000

/**
 * Waits before another try of a transaction. The pause doubles with each try, and is random so that runs do not
 * retry at the same time.
 */
export const pauseBeforeRetry = (
  { clock, entropy }: Pick<FollowingPorts, 'clock' | 'entropy'>,
  tries: number,
): Promise<void> => {
  const most = Math.min(LONGEST_PAUSE, 20 * 2 ** tries)
  return clock.sleep(Math.floor((most * (1 + (entropy.bytes(1)[0] ?? 0) / 256)) / 2))
}

/** Returns the applier's view of the journal's tables. */
export const createApplyTarget = (own: FollowingPorts): ApplyTarget => ({
  find: async pieces => {
    const [items, buckets] = await Promise.all([
      own.journal.readRaw(pieces.flatMap(({ changes }) => changes)),
      own.journal.buckets(pieces.map(({ bucket }) => bucket)),
    ])
    let at = 0
    return pieces.map(({ changes }: BucketChanges, index) => {
      const some = items.slice(at, at + changes.length)
      at += changes.length
      return { items: some, mark: buckets[index]?.mark ?? '' }
    })
  },
  write: async steps => {
    const result = await own.journal.transact(steps.flatMap(elementsOf))
    return typeof result === 'string' ? result : 'refused'
  },
  pause: tries => pauseBeforeRetry(own, tries),
})

const elementsOf = ({ items, bucket, mark }: BucketWrite): TransactionElement[] => [
  ...items.map(elementOf),
  { kind: 'bucket', bucket: bucket.bucket, sums: bucket.sums, mark },
]

const elementOf = ({ key, put, if: found }: ItemWriteStep): TransactionElement =>
  put === undefined ? { kind: 'check', check: key, if: found } : { kind: 'item', item: key, put, if: found }

/** Pieces that write to the same bucket, in journal order. */
type Component = readonly BucketChanges[]

/**
 * Splits the journal entries of a window into components that share neither items nor buckets, so that they can be applied
 * in parallel. A key always has the same bucket, so all changes of a key are in one component.
 *
 * @param treeId id of this cluster's tree
 * @param entries in journal order
 */
export function splitEntriesIntoComponents(treeId: string, entries: readonly JournalEntry[]): Component[] {
  const components = new Map<string, BucketChanges[]>()
  for (const entry of entries)
    for (const piece of splitIntoPieces(treeId, entry)) {
      const place = treeBucketText(piece.bucket)
      const component = components.get(place) ?? []
      components.set(place, component)
      component.push(piece)
    }
  return [...components.values()]
}

function splitIntoPieces(treeId: string, entry: JournalEntry): BucketChanges[] {
  const { seq, at } = entry
  const pos = positionText(entry)
  const byBucket = Map.groupBy(entry.body, ({ kind, pk, sk }) =>
    treeBucketText(treeBucketOf(treeId, kind, pk, sk)),
  )
  return [...byBucket.values()].flatMap(changes => {
    const [first] = changes
    if (!first) return []
    const bucket = treeBucketOf(treeId, first.kind, first.pk, first.sk)
    const bytes = changes.reduce((sum, { item }) => sum + Buffer.byteLength(JSON.stringify(item)), 0)
    return [{ pos, seq, bucket, changes: changes.map(change => ({ ...change, at })), bytes }]
  })
}

/**
 * Merges pieces of one bucket into one, with the final state of each item. Intermediate states are skipped, which
 * no reader notices because a secondary serves no reads. The transaction expects each item as the first piece found
 * it, so the merge of a partly applied run fails.
 *
 * @param pieces in journal order, at least one
 */
function mergePieces(pieces: Component): BucketChanges {
  const last = pieces.at(-1)
  if (!last) throw new Error('there is nothing to merge')
  if (pieces.length === 1) return last
  const changes = new Map<string, DatedChange>()
  for (const change of pieces.flatMap(piece => piece.changes)) {
    const before = changes.get(itemPlaceText(change))
    changes.set(itemPlaceText(change), before ? { ...change, prev: before.prev, at: before.at } : change)
  }
  const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  return { ...last, changes: [...changes.values()], bytes }
}

/**
 * Splits a component into runs that the applier writes in sequence, each as large as a transaction allows.
 * @param until last position of the replay: the judge has other rules for later pieces, so a run has only one kind
 */
function splitIntoRuns(component: Component, until: number): Component[] {
  const runs: BucketChanges[][] = []
  let [items, bytes] = [new Set<string>(), 0]
  for (const piece of component) {
    const last = runs.at(-1)
    const more = piece.changes.map(itemPlaceText).filter(place => !items.has(place))
    const fits = items.size + more.length < ELEMENTS && bytes + piece.bytes <= BYTES
    if (last && fits && (last.at(-1)?.seq ?? 0) <= until === piece.seq <= until) {
      last.push(piece)
      for (const place of more) items.add(place)
      bytes += piece.bytes
    } else {
      runs.push([piece])
      items = new Set(piece.changes.map(itemPlaceText))
      bytes = piece.bytes
    }
  }
  return runs
}

/** Maximum number of elements in a transaction; DynamoDB allows 100. */
const ELEMENTS = 98
/** Maximum size of the items in a transaction, bytes; DynamoDB allows 4 MiB, and counts slightly differently. */
const BYTES = 2 ** 21

/** Returns the number of transaction elements of a piece: one for each item and one for the bucket. */
const elementCount = ({ changes }: BucketChanges): number => changes.length + 1

/**
 * Groups independent runs into transactions, so that all workers are busy.
 * @returns groups that contain each run once, in the given order
 */
export function packEntryComponents(ready: readonly Component[], workers: number): Component[][] {
  const most = Math.max(1, Math.ceil(ready.length / workers))
  const groups: Component[][] = []
  let [elements, bytes] = [0, 0]
  for (const run of ready) {
    const last = groups.at(-1)
    const whole = mergePieces(run)
    const [wanted, more] = [elementCount(whole), whole.bytes]
    if (last && last.length < most && elements + wanted <= ELEMENTS && bytes + more <= BYTES) {
      last.push(run)
      elements += wanted
      bytes += more
    } else {
      groups.push([run])
      elements = wanted
      bytes = more
    }
  }
  return groups
}
