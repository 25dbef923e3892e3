import type { JobResult, JobRun } from '../../jobs/job.ts'
import { writeReplicationEvent } from '../../journal/events.ts'
import { lastPosition } from '../../journal/head.ts'
import type { ReencryptionProgress } from '../../model/reencryption.ts'
import type { Ports } from '../../ports.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, key } from '../../storage/kinds.ts'
import { defined } from '../../values/defined.ts'
import { replaceFollowerKeyring } from '../secondary/follower.ts'
import {
  areOwnKeysReencrypted,
  isDataReencrypted,
  isTermWorkDue,
  listDestroyableTerms,
  listDroppableTerms,
  listOlderTerms,
} from './decide.ts'
import {
  encryptsReplicatedData,
  journalEpochOf,
  readKeyringTermFacts,
  type StoredKeyringTermFacts,
} from './facts.ts'
import { reencryptOwnKeys } from './own-keys.ts'
import { runReencryptionPass } from './pass.ts'

/**
 * Re-encrypts everything with the newest term, and destroys terms that nothing needs any more. Each step reads the
 * stored state, so another run can continue after an interruption; a worker starts that run within a minute.
 * @see docs/spec/keys.md#re-encryption
 */
export async function runReencryptionJob(run: JobRun): Promise<JobResult> {
  const { ports } = run
  const first = await readKeyringTermFacts(ports)
  if (!first || !isTermWorkDue(first)) return 'done'
  ports.cipher.expectKeyring(first.record)
  if (!areOwnKeysReencrypted(first) && !(await reencryptOwnKeys(ports, first))) return 'done'
  const second = await readKeyringTermFacts(ports)
  if (second && encryptsReplicatedData(second) && !isDataReencrypted(second)) {
    const passed = await runReencryptionPass(run, second)
    if (!passed.ok) return passed.fault === 'time' ? { again: {} } : 'done'
    await endPass(run, second, passed.value)
  }
  const third = await readKeyringTermFacts(ports)
  if (third && encryptsReplicatedData(third)) await destroyTerms(run, third)
  const last = await readKeyringTermFacts(ports)
  if (last) await dropDestroyedTerms(ports, last)
  return 'done'
}

/**
 * Ends a re-encryption pass. If the pass found nothing to re-encrypt, stores in the older terms the time since
 * which they are unused, and in the progress the journal's position at that time. Otherwise another re-encryption
 * pass follows.
 */
async function endPass(
  run: JobRun,
  snapshot: StoredKeyringTermFacts,
  progress: ReencryptionProgress,
): Promise<void> {
  const { store, journal, clock, log } = run.ports
  const cluster = await run.cluster()
  const same =
    cluster?.record.keyringEdition === snapshot.record.keyringEdition &&
    journalEpochOf(cluster?.record ?? snapshot.record) === progress.epoch
  const [item] = await store.read([key('reencryption')])
  if (!cluster || !same || item?.data.until !== progress.until) return
  const { nextPlace: _, ...over } = { ...progress, until: 0 }
  if (progress.skipped > 0) {
    await store.commit([replaceItem(key('reencryption'), item, over)], cluster)
    return
  }
  const now = clock.now()
  const marks = listOlderTerms(snapshot)
    .filter(({ data }) => data.unusedSince === undefined)
    .map(one => replaceItem(one, one, { ...one.data, unusedSince: now }))
  if (marks.length > 0 && (await store.commit(marks, cluster)) === 'conflict') return
  const head = progress.epoch === '' ? undefined : await journal.head()
  const position = head && lastPosition(head)
  const { termNumber, written, seen, unreadable } = progress
  if (unreadable.count > 0)
    log.error('this cluster has no key term that decrypts some of the stored fields', { ...unreadable })
  const facts = { number: termNumber, seen, written, unreadable: unreadable.count }
  await writeReplicationEvent('reencrypted', progress.term, cluster.record, facts, run.ports)
  await store.commit(
    [replaceItem(key('reencryption'), item, defined({ ...over, doneAt: now, position }))],
    cluster,
  )
}

const numbersOf = (terms: readonly Item<'term'>[]): number[] => terms.map(({ data }) => data.number)

/**
 * Marks terms that nothing needs any more as destroyed. Each cluster drops the keys of destroyed terms when it
 * applies these items.
 */
async function destroyTerms(run: JobRun, snapshot: StoredKeyringTermFacts): Promise<void> {
  const { store, clock } = run.ports
  const terms = listDestroyableTerms(snapshot)
  const cluster = await run.cluster()
  if (!cluster || terms.length === 0 || cluster.record.keyringEdition !== snapshot.record.keyringEdition)
    return
  const ids = terms.map(({ sk }) => sk)
  await writeReplicationEvent(
    'terms-destroyed',
    ids[0] ?? '',
    cluster.record,
    { terms: ids, numbers: numbersOf(terms) },
    run.ports,
  )
  const destroyed = clock.now()
  await store.commit(
    terms.map(one => replaceItem(one, one, { ...one.data, destroyed })),
    cluster,
  )
}

/** Removes the keys of destroyed terms from this cluster's keyring. */
async function dropDestroyedTerms(ports: Ports, snapshot: StoredKeyringTermFacts): Promise<void> {
  const { store, keyFactory, clock } = ports
  const terms = listDroppableTerms(snapshot)
  if (terms.length === 0) return
  const { record, keyring } = snapshot.items
  const ids = terms.map(({ sk }) => sk)
  const made = await keyFactory.removeTerms(keyring.data, ids, clock.now())
  await writeReplicationEvent(
    'terms-dropped',
    ids[0] ?? '',
    record.data,
    { terms: ids, numbers: numbersOf(terms) },
    ports,
  )
  await store.commit(replaceFollowerKeyring(record, keyring, made), {
    record: record.data,
    readAt: snapshot.now,
  })
}
