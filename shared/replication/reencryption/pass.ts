import { commitEachGroup, countGroupOutcomes } from '../../jobs/commit-each.ts'
import { hasTimeLeft, type JobRun } from '../../jobs/job.ts'
import type { TableScanPage } from '../../journal/journal.ts'
import type { ReencryptionProgress } from '../../model/reencryption.ts'
import { type Change, replaceItem } from '../../storage/changes.ts'
import { listEncryptedKinds } from '../../storage/encrypted-kinds.ts'
import { itemKindSpec, key } from '../../storage/kinds.ts'
import { fromStoredItem, type StoredItem } from '../../storage/requests.ts'
import { splitIntoChunks } from '../../values/batches.ts'
import { bounds } from '../../values/bounds.ts'
import { defined } from '../../values/defined.ts'
import { failed, ok, type Result } from '../../values/result.ts'
import { journalEpochOf, type StoredKeyringTermFacts } from './facts.ts'
import { reencryptItem } from './own-keys.ts'

const SEGMENTS = 4
/**
 * Number of items that one write re-encrypts if there is a journal, and the minimum time between two such writes,
 * milliseconds.
 */
const ITEMS_PER_COMMIT = 20
const REENCRYPTION_PACE_MS = 66
/** Number of items between two updates of the re-encryption progress. */
const AT_ONCE = 500
/** Minimum time between two pages of the table, milliseconds. */
const REENCRYPTION_PAGE_PAUSE_MS = 250
/** Maximum number of undecryptable fields that are named. */
const MOST_NAMES = 10

/** The encrypted fields of the kinds in the table `data`. */
const pathsOf: Readonly<Record<string, string[]>> = Object.fromEntries(
  listEncryptedKinds(['reencrypt', 'renew'])
    .filter(({ kind }) => itemKindSpec(kind).table === 'data')
    .map(({ kind, paths }) => [kind, paths]),
)

/** Returns the progress with which a pass begins or continues. */
export function beginReencryption({
  now,
  record,
  keyring,
  progress,
}: StoredKeyringTermFacts): ReencryptionProgress {
  const epoch = journalEpochOf(record)
  const { activeTerm, term } = keyring
  const fresh = {
    nextPlace: undefined,
    seen: 0,
    skipped: 0,
    unreadable: { count: 0, names: [] },
    doneAt: undefined,
  }
  if (!progress || progress.term !== activeTerm || progress.epoch !== epoch) {
    const total = progress?.doneAt === undefined ? 0 : progress.seen
    return defined({
      term: activeTerm,
      termNumber: term,
      epoch,
      since: now,
      until: 0,
      pass: 1,
      total,
      written: 0,
      ...fresh,
    }) as ReencryptionProgress
  }
  if (progress.nextPlace || progress.skipped === 0) return progress
  return defined({
    ...progress,
    ...fresh,
    pass: progress.pass + 1,
    total: progress.seen,
  }) as ReencryptionProgress
}

/** Returns the cluster record for a write; undefined if the role, the keyring or the journal is no longer that of the pass. */
const readMatchingCluster = async (run: JobRun, snapshot: StoredKeyringTermFacts) => {
  const cluster = await run.cluster()
  if (!cluster || cluster.record.operation !== undefined) return undefined
  const same =
    cluster.record.keyringEdition === snapshot.record.keyringEdition &&
    journalEpochOf(cluster.record) === journalEpochOf(snapshot.record)
  return same ? cluster : undefined
}

/** Stores the progress of re-encryption, unless another run has stored newer progress. */
async function note(
  run: JobRun,
  snapshot: StoredKeyringTermFacts,
  was: ReencryptionProgress | undefined,
  next: ReencryptionProgress,
) {
  const { store } = run.ports
  const place = key('reencryption')
  const [item] = await store.read([place])
  const cluster = await readMatchingCluster(run, snapshot)
  const untouched = item?.data.until === was?.until && item?.data.seen === was?.seen
  if (!cluster || !untouched) return undefined
  return (await store.commit([replaceItem(place, item, next)], cluster)) === 'done' ? next : undefined
}

/**
 * Reads the table `data` from the place where the previous run stopped, and re-encrypts the fields that older terms
 * have encrypted. The rate of a re-encryption pass is limited, so that requests stay fast. The pass stores its
 * progress, so that another run can continue. An item that has changed since the read is left for the next pass.
 * @returns the progress at the end of the table; `time`: time ran out; `stopped`: keyring or role changed, or
 * another run took over
 */
export async function runReencryptionPass(
  run: JobRun,
  snapshot: StoredKeyringTermFacts,
): Promise<Result<ReencryptionProgress, 'time' | 'stopped'>> {
  const { journal, clock } = run.ports
  const lease = () => clock.now() + bounds.REENCRYPTION_LEASE_MS
  let progress = await note(run, snapshot, snapshot.progress, {
    ...beginReencryption(snapshot),
    until: lease(),
  })
  while (progress) {
    const { segment, from } = progress.nextPlace ?? { segment: 0 }
    if (segment >= SEGMENTS) return ok(progress)
    const began = clock.now()
    const page = await journal.scan({ index: segment, of: SEGMENTS, from })
    for (const { items, next } of portionsOf(page)) {
      const found = await reencryptItems(run, snapshot, items)
      if (!found.ok) {
        const paused = await note(run, snapshot, progress, { ...progress, until: 0 })
        return paused ? found : failed('stopped')
      }
      const at = next ? { segment, from: next } : { segment: segment + 1 }
      progress = await note(run, snapshot, progress, {
        ...addFound(progress, found.value),
        nextPlace: at,
        until: lease(),
      })
      if (!progress) break
    }
    await clock.sleep(Math.max(0, REENCRYPTION_PAGE_PAUSE_MS - (clock.now() - began)))
  }
  return failed('stopped')
}

/**
 * Splits a page of items into parts, each with the key at which the next part begins. An empty page of items is one
 * part.
 */
function portionsOf({
  items,
  next,
}: TableScanPage): { items: readonly StoredItem[]; next: TableScanPage['next'] }[] {
  const parts = items.length === 0 ? [[]] : splitIntoChunks(items, AT_ONCE)
  return parts.map((some, index) => {
    const last = some.at(-1)
    return { items: some, next: index + 1 === parts.length || !last ? next : { pk: last.pk, sk: last.sk } }
  })
}

type Found = Pick<ReencryptionProgress, 'seen' | 'written' | 'skipped' | 'unreadable'>

const addFound = (progress: ReencryptionProgress, found: Found): ReencryptionProgress => ({
  ...progress,
  seen: progress.seen + found.seen,
  written: progress.written + found.written,
  skipped: progress.skipped + found.skipped,
  unreadable: {
    count: progress.unreadable.count + found.unreadable.count,
    names: [...progress.unreadable.names, ...found.unreadable.names].slice(0, MOST_NAMES),
  },
})

async function reencryptItems(
  run: JobRun,
  snapshot: StoredKeyringTermFacts,
  items: readonly StoredItem[],
): Promise<Result<Found, 'time' | 'stopped'>> {
  const { clock, cipher } = run.ports
  const found = {
    seen: items.length,
    written: 0,
    skipped: 0,
    unreadable: { count: 0, names: [] as string[] },
  }
  const changes: Change[] = []
  for (const stored of items) {
    const paths = pathsOf[stored.kind]
    const item = paths && fromStoredItem(stored.kind, stored, Math.floor(clock.now() / 1000))
    if (!item) continue
    const { data, changed, unreadable } = await reencryptItem(item, paths, cipher)
    if (unreadable > 0) {
      found.unreadable.count += unreadable
      found.unreadable.names.push(`${item.kind} ${item.pk} ${item.sk}`)
    }
    const { expires, due, ttl } = stored
    if (changed) changes.push(replaceItem(item, item as never, data, defined({ expires, due, ttl })))
  }
  for (const some of splitIntoChunks(changes, ITEMS_PER_COMMIT)) {
    if (!hasTimeLeft(run)) return failed('time')
    if (!(await readMatchingCluster(run, snapshot))) return failed('stopped')
    const began = clock.now()
    const { written, skipped } = await writeChanges(run, snapshot, some)
    found.written += written
    found.skipped += skipped
    await clock.sleep(Math.max(0, REENCRYPTION_PACE_MS - (clock.now() - began)))
  }
  return hasTimeLeft(run) ? ok(found) : failed('time')
}

async function writeChanges(run: JobRun, snapshot: StoredKeyringTermFacts, changes: readonly Change[]) {
  const { ports, deadline } = run
  const committing = { ports, deadline, cluster: () => readMatchingCluster(run, snapshot) }
  const groups = changes.map(change => [change])
  const { done: written } = countGroupOutcomes(await commitEachGroup(committing, groups))
  return { written, skipped: changes.length - written }
}
