import { type Call, type CallOutcome, dataAnswer, type EarlyCall } from '../../api/call.ts'
import { prefetchJournalView, readJournalView } from '../../api/early-look.ts'
import { listFields, readPageParameters } from '../../api/listing.ts'
import { listPages } from '../../jobs/list-pages.ts'
import type { JournalHead } from '../../journal/head.ts'
import { type ClusterRecord, linkToPrimaryOf } from '../../model/cluster.ts'
import type { DifferenceReport, DivergingKey } from '../../model/secondary.ts'
import type { LossAnswer } from '../../set/loss.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { formatTime } from '../../values/time.ts'
import { divergingKeysOf, isDivergingKeyGivenUp, shortKeyName } from '../secondary/diverging.ts'
import { describeItemForOperator } from './describe-item.ts'

export const divergingItemsFields = listFields

/** Number of journal entries in an answer, and of characters of all their changes. An answer has at least one journal entry. */
const USUAL = 100
const MOST = 1000
const LARGEST = 1_000_000
/** Report parts that are read at once, and that are counted. The items of 1000 parts have about 100 MB. */
const PARTS = 8
const MOST_PARTS = 1000

/** Seconds after which a client requests an incomplete report again. */
const REPORT_RETRY_SECONDS = 2

/** A commit that the set does not have. */
type LostEntry = LossAnswer['lost'][number]
/** An item as it was stored. */
type ShownChange = LostEntry['changes'][number]
/** Numbers of lost changes by kind. */
type Counts = NonNullable<LossAnswer['counts']>

/** Reads the journal head and the diverging keys together with the request's first read. */
export const prepareDivergingItems = async ({ ports }: Pick<EarlyCall, 'ports'>) => ({
  keys: [key('diverging')] as const,
  ...prefetchJournalView(ports, () => ({ treeId: undefined })),
})

/**
 * Handles GET sys/replication/dr/divergence: lists the commits of this cluster that its set does not have, from the
 * reports that were stored before they were undone, in pages. The answer also lists the items that keep differing
 * from the primary's.
 */
export async function showDivergingItems(call: Call<typeof divergingItemsFields>): Promise<CallOutcome> {
  const { record } = call.cluster
  // the head is read before the reports, because the last report is stored before the head says that all reports
  // are complete
  const { head } = await readJournalView(call, undefined)
  const waits = describeMissingInput(record, head)
  const lost = await readLostEntries(call)
  const { treeId, link } = record
  const keys = divergingKeysOf(call.fetched.get(key('diverging')), {
    treeId,
    link: link?.name,
  })
  const report = {
    complete: waits === '',
    waits_for: waits,
    ...lost,
    diverging: keys.map(one => shownKey(one, mountsOf(call))),
  }
  return {
    answer: {
      ...dataAnswer(report),
      ...(waits === '' ? {} : { retryAfter: REPORT_RETRY_SECONDS }),
    },
  }
}

/**
 * Describes what must happen before the report is complete; empty if the report is complete. A cluster that applies
 * its primary's journal has compared both journals, and stored its report, before it began to apply.
 */
export function describeMissingInput(
  { mode, operation, ...record }: Pick<ClusterRecord, 'mode' | 'operation' | 'link'>,
  head: Pick<JournalHead, 'mode' | 'link'> | undefined,
): string {
  if (mode === 'disabled') return ''
  if (operation !== undefined)
    return 'an operation on this cluster: GET sys/replication/dr/status shows the operation; repeat the request when the operation has ended'
  if (mode === 'primary')
    return head?.mode === 'writing'
      ? ''
      : 'the end of a role change of this cluster: repeat the request in a few seconds'
  const link = linkToPrimaryOf(record)
  if (!link)
    return 'a primary: POST sys/replication/dr/secondary/update-primary makes this cluster follow a primary, whose journal shows the lost commits'
  if (head?.mode === 'applying' && head.link === (link.name ?? '')) return ''
  return head?.mode === 'syncing'
    ? 'the end of the running sync: repeat the request in a few seconds'
    : 'the journal of the primary, which this cluster compares with its own journal: repeat the request in a few seconds'
}

type Mounts = Parameters<typeof describeItemForOperator>[1]

const mountsOf = ({ mounts }: Pick<Call, 'mounts'>): Mounts => [...mounts.mounts, ...mounts.removing]

/** Returns a repeatedly fetched item in the form of the answer. `given_up`: no sync fetches the item any more. */
const shownKey = ({ kind, pk, sk, rounds, at }: DivergingKey, mounts: Mounts) => ({
  kind,
  key: [pk, sk] as const,
  what: describeItemForOperator({ kind, pk, sk }, mounts),
  rounds,
  last_found: formatTime(at),
  given_up: isDivergingKeyGivenUp({ rounds }),
  name: shortKeyName({ kind, pk, sk }),
})

/** Returns a page of the lost commits; `next` is the value for `after`. The first page contains the counts of all commits. */
async function readLostEntries(
  call: Call<typeof divergingItemsFields>,
): Promise<{ lost: readonly LostEntry[]; next: string; counts?: Counts }> {
  const { after = '', limit = USUAL } = readPageParameters(call.parameters)
  const page = newPage(after, Math.min(limit, MOST))
  let counts: Counts = { commits: 0, kinds: {} }
  const seen = new Set<string>()
  let read = 0
  for await (const parts of readParts(call.ports, after.split('#')[0])) {
    for (const entry of parts.flatMap(one => (one ? entriesOf(one, mountsOf(call)) : []))) {
      if (seen.has(entry.position)) continue
      if (page.add(entry) !== 'before') seen.add(entry.position)
      if (after === '') counts = addCounts(counts, entry)
    }
    if (page.isFull() && after !== '') return page.found()
    if (read >= MOST_PARTS) return { ...page.found(), counts: { ...counts, more: true } }
    read += PARTS
  }
  return { ...page.found(), ...(after === '' ? { counts } : {}) }
}

/** Yields the named report part, and then the parts after it, in pages. */
async function* readParts(
  ports: Call['ports'],
  name = '',
): AsyncGenerator<readonly (Item<'report'> | undefined)[]> {
  yield name === '' ? [] : await ports.store.read([key('report', name)])
  for await (const { items } of listPages(ports, itemPartitions('report'), PARTS, name)) yield items
}

/** Collects the journal entries after a name until the page is full. */
function newPage(after: string, wanted: number) {
  const lost: LostEntry[] = []
  let size = 0
  let next = ''
  return {
    add: (entry: LostEntry): 'before' | 'taken' | 'left' => {
      if (entry.name <= after) return 'before'
      size += JSON.stringify(entry.changes).length
      const fits = next === '' && lost.length < wanted && (lost.length === 0 || size <= LARGEST)
      if (fits) lost.push(entry)
      else next = lost.at(-1)?.name ?? ''
      return fits ? 'taken' : 'left'
    },
    isFull: () => next !== '',
    found: () => ({ lost, next }),
  }
}

function addCounts({ commits, kinds: before }: Counts, { changes }: LostEntry): Counts {
  const kinds = { ...before }
  for (const { kind, deleted: isDeleted } of changes) {
    const { written, deleted } = kinds[kind] ?? { written: 0, deleted: 0 }
    kinds[kind] = isDeleted ? { written, deleted: deleted + 1 } : { written: written + 1, deleted }
  }
  return { commits: commits + 1, kinds }
}

const PLACE_DIGITS = 6

const entriesOf = (
  { sk, data: { entries, forkPoint, epoch } }: Item<'report'>,
  mounts: Mounts,
): LostEntry[] =>
  entries.map(({ pos, id, at, changes, withoutItems }, index) => ({
    name: `${sk}#${String(index).padStart(PLACE_DIGITS, '0')}`,
    position: pos,
    commit: id,
    time: formatTime(at),
    cut: forkPoint,
    epoch,
    changes: changes.map(change => shownChange(change, withoutItems, mounts)),
    ...(withoutItems ? { too_large: true as const } : {}),
  }))

type LostChange = DifferenceReport['entries'][number]['changes'][number]

const shownChange = (
  { kind, pk, sk, item }: LostChange,
  bare: true | undefined,
  mounts: Mounts,
): ShownChange => ({
  kind,
  key: [pk, sk],
  what: describeItemForOperator({ kind, pk, sk }, mounts, item),
  ...(item === undefined ? (bare ? {} : { deleted: true as const }) : { item }),
})
