import { type Element, type Journal, type Place, placeText } from '../../journal/journal.ts'
import type { JournalEntry } from '../../journal/journal-entry.ts'
import { markText, posText } from '../../journal/position.ts'
import { bucketOf, bucketText } from '../../journal/tree.ts'
import type { Clock, Entropy } from '../../ports.ts'
import { inParallel } from '../../values/in-parallel.ts'
import { CONFLICT, ok } from '../../values/result.ts'
import { retrying } from '../../values/retrying.ts'
import {
  type ApplySettings,
  type DatedChange,
  type ItemStep,
  type Judgement,
  judgePiece,
  type Piece,
  planAsExpected,
  type Steps,
  type StoredState,
} from './judge.ts'

/** The tables of the own cluster, as far as the applier touches them. */
export interface Target {
  /** what stands in the places of pieces, in their order */
  find(pieces: readonly Piece[]): Promise<StoredState[]>
  /** one transaction; `conflict` decides nothing */
  write(steps: readonly Steps[]): Promise<'done' | 'refused' | 'conflict'>
  /** before another try */
  pause(tries: number): Promise<void>
}

/** How applying a window ended: `busy` if other writers conflicted, else the items that are not as journal entries expect. */
export type Applied = { readonly busy: boolean; readonly mismatch: readonly Place[] }

const WORKERS = 8
/** Some seconds together: a transaction that hangs is decided by then, and its result is visible. */
const APPLY_TRIES = 16

/**
 * Applies the journal entries of a window. It may run any number of times, also at once and in processes that were frozen in
 * between: marks tell what is applied already, and refuse outdated writes.
 */
export async function applyWindow(
  entries: readonly JournalEntry[],
  setting: ApplySettings,
  target: Target,
): Promise<Applied> {
  let components = splitIntoComponents(setting.treeId, entries).map(component =>
    splitIntoRuns(component, setting.replayUntil),
  )
  const mismatch: Place[] = []
  let busy = false
  // the first runs of all components, then the second ones of those that have any …
  for (let round = 0; components.length > 0; round++) {
    const runs = components.flatMap(component => component.slice(round, round + 1))
    const stuck = new Set<Component>()
    await inParallel(
      packComponents(runs, WORKERS),
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

/** Pieces of one bucket in a row that are not applied (yet). */
interface UnappliedRun {
  run: Component
  /** empty: it could not be written, but nothing is wrong with it */
  wrong: readonly Place[]
}

/** Applies runs in one transaction; if one run conflicts, the others are still applied. */
async function applyPack(
  pack: readonly Component[],
  setting: ApplySettings,
  target: Target,
): Promise<UnappliedRun[]> {
  if (pack.every(run => run.every(piece => piece.seq > setting.replayUntil))) {
    const written = await target.write(pack.map(run => planAsExpected(mergePieces(run), setting)))
    if (written === 'done') return []
  }
  let left: UnappliedRun[] = pack.map(run => ({ run, wrong: [] }))
  await retrying({ tries: APPLY_TRIES, pause: target.pause }, async () => {
    left = await tryOnce(left, setting, target)
    return left.length > 0 ? CONFLICT : ok()
  })
  return left
}

async function tryOnce(
  left: readonly UnappliedRun[],
  setting: ApplySettings,
  target: Target,
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
  { items, mark }: StoredState = { items: [], mark: '' },
  setting: ApplySettings,
): Judgement {
  const rest = run.filter(({ pos }) => markText(setting.incarnation, pos) > mark)
  if (rest.length === 0) return { kind: 'applied' }
  const own = new Map(changes.map((change, index) => [placeText(change), items[index]]))
  const whole = mergePieces(rest)
  return judgePiece(whole, { items: whole.changes.map(change => own.get(placeText(change))), mark }, setting)
}

/** What a part of the secondary may reach of its own cluster. */
export interface OwnPorts {
  journal: Journal
  clock: Clock
  entropy: Pick<Entropy, 'bytes' | 'uuid'>
}

const LONGEST_PAUSE = 1000

/** Waits before another try: longer each time, and not all at once. */
export const pauseBeforeRetry = (
  { clock, entropy }: Pick<OwnPorts, 'clock' | 'entropy'>,
  tries: number,
): Promise<void> => {
  const most = Math.min(LONGEST_PAUSE, 20 * 2 ** tries)
  return clock.sleep(Math.floor((most * (1 + (entropy.bytes(1)[0] ?? 0) / 256)) / 2))
}

/** The applier's tables are those of the journal. */
export const targetOf = (own: OwnPorts): Target => ({
  find: async pieces => {
    const [items, buckets] = await Promise.all([
      own.journal.readRaw(pieces.flatMap(({ changes }) => changes)),
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
  pause: tries => pauseBeforeRetry(own, tries),
})

const elementsOf = ({ items, bucket, mark }: Steps): Element[] => [
  ...items.map(elementOf),
  { kind: 'bucket', bucket: bucket.bucket, sums: bucket.sums, mark },
]

const elementOf = ({ key, put, if: found }: ItemStep): Element =>
  put === undefined ? { kind: 'check', check: key, if: found } : { kind: 'item', item: key, put, if: found }

/** Pieces that touch the same bucket, in the order of their journal entries. */
type Component = readonly Piece[]

/**
 * Splits the journal entries of a window into components. Components share neither item nor bucket, so that they can be applied
 * in parallel: a key always has the same bucket, so changes of one key are in one component.
 *
 * @param treeId id of the own tree
 * @param entries in the order of their positions
 */
export function splitIntoComponents(treeId: string, entries: readonly JournalEntry[]): Component[] {
  const components = new Map<string, Piece[]>()
  for (const entry of entries)
    for (const piece of splitIntoPieces(treeId, entry)) {
      const place = bucketText(piece.bucket)
      const component = components.get(place) ?? []
      components.set(place, component)
      component.push(piece)
    }
  return [...components.values()]
}

function splitIntoPieces(treeId: string, entry: JournalEntry): Piece[] {
  const { seq, at } = entry
  const pos = posText(entry)
  const byBucket = Map.groupBy(entry.body, ({ kind, pk, sk }) => bucketText(bucketOf(treeId, kind, pk, sk)))
  return [...byBucket.values()].flatMap(changes => {
    const [first] = changes
    if (!first) return []
    const bucket = bucketOf(treeId, first.kind, first.pk, first.sk)
    const bytes = changes.reduce((sum, { item }) => sum + Buffer.byteLength(JSON.stringify(item)), 0)
    return [{ pos, seq, bucket, changes: changes.map(change => ({ ...change, at })), bytes }]
  })
}

/**
 * Merges pieces of one bucket into one, with the final state of each item. No reader misses the states in between, since a
 * secondary serves no reads. Every item is expected as the first piece found it, so a partly applied run is noticed.
 *
 * @param pieces one at least, in their order
 */
function mergePieces(pieces: Component): Piece {
  const last = pieces.at(-1)
  if (!last) throw new Error('there is nothing to merge')
  if (pieces.length === 1) return last
  const changes = new Map<string, DatedChange>()
  for (const change of pieces.flatMap(piece => piece.changes)) {
    const before = changes.get(placeText(change))
    changes.set(placeText(change), before ? { ...change, prev: before.prev, at: before.at } : change)
  }
  const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  return { ...last, changes: [...changes.values()], bytes }
}

/**
 * Splits a component into runs that are applied one after the other, each as large as a transaction allows.
 * @param until pieces up to this position and later ones are judged by different rules, and are not merged
 */
function splitIntoRuns(component: Component, until: number): Component[] {
  const runs: Piece[][] = []
  let [items, bytes] = [new Set<string>(), 0]
  for (const piece of component) {
    const last = runs.at(-1)
    const more = piece.changes.map(placeText).filter(place => !items.has(place))
    const fits = items.size + more.length < ELEMENTS && bytes + piece.bytes <= BYTES
    if (last && fits && (last.at(-1)?.seq ?? 0) <= until === piece.seq <= until) {
      last.push(piece)
      for (const place of more) items.add(place)
      bytes += piece.bytes
    } else {
      runs.push([piece])
      items = new Set(piece.changes.map(placeText))
      bytes = piece.bytes
    }
  }
  return runs
}

/** Elements of a transaction: the engine takes a hundred. */
const ELEMENTS = 98
/** Bytes of the items in a transaction: the engine takes 4 MiB, and counts a little otherwise. */
const BYTES = 2 ** 21

/** The items of a piece, and its bucket. */
const elementCount = ({ changes }: Piece): number => changes.length + 1

/**
 * Groups independent runs into transactions, for so many workers.
 * @returns every given run in one of the groups, in their order
 */
export function packComponents(ready: readonly Component[], workers: number): Component[][] {
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
