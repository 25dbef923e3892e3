import { hasTimeLeft, type JobResult, type JobRun, processEach } from '../../jobs/job.ts'
import { listPages } from '../../jobs/list-pages.ts'
import { recordKeepsJournal } from '../../model/cluster.ts'
import type { TidySettings, TidyStamp } from '../../model/tidy.ts'
import type { ClusterRead, Ports } from '../../ports.ts'
import { replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, key } from '../../storage/kinds.ts'
import { defaultTidySettings, type TidyList, tidyListKinds, tidyTimes } from './settings.ts'

export interface TtlUpdateJob {
  mount: string
  list: TidyList
  /** `partition` and `after` say where the previous run stopped: the index of the partition and the last name in it. */
  partition: number
  after: string
  /** the revision of the settings that all entries follow once this job is complete; absent: unknown */
  settling?: string | undefined
}

export const tidyListStart = { partition: 0, after: '' } as const

const PAGE = 500
const DEFAULTS = 'none'
const unstamped: TidyStamp = { seenVersion: DEFAULTS, appliedVersion: DEFAULTS }

/**
 * Updates the DynamoDB TTL of a list's entries after its settings changed. Tidy follows new settings at once; DynamoDB's own deletion
 * is only the backstop.
 */
export async function updateListTtls(run: JobRun, job: TtlUpdateJob): Promise<JobResult> {
  const { store } = run.ports
  if (isJournaled(await run.cluster())) return 'done'
  const [stored] = await store.read([key('tidy-settings', job.mount, job.list)])
  const settings = stored?.data ?? defaultTidySettings
  const { kind, pks } = itemPartitions(tidyListKinds[job.list], job.mount)
  let { partition, after, settling } = job
  for (; partition < pks.length; partition++, after = '') {
    const where = { kind, pks: pks.slice(partition, partition + 1) }
    for await (const { items, next } of listPages(run.ports, where, PAGE, after)) {
      const cluster = await run.cluster()
      if (!cluster) return 'done'
      const { failed } = await processEach(
        items,
        async item => (await store.commit([stampedFor(item, settings)], cluster)) === 'done',
      )
      if (failed > 0) settling = undefined
      const place = next === undefined ? { partition: partition + 1, after: '' } : { partition, after: next }
      if (!hasTimeLeft(run)) return { again: { ...job, ...place, settling } }
    }
  }
  const cluster = await run.cluster()
  if (cluster && settling === (stored?.rev ?? DEFAULTS))
    await note(run.ports, cluster, job, { appliedVersion: settling })
  return 'done'
}

/**
 * Starts a restamp job for settings that are newer than the entries' TTLs, in the second hourly run that sees them.
 * By the second hourly run every login that used the old settings has ended, and the job replaces a job that was
 * lost.
 */
export async function scheduleTtlUpdate(
  ports: Ports,
  cluster: ClusterRead,
  list: { mount: string; list: TidyList },
  settings: Item<'tidy-settings'> | undefined,
  last: Item<'tidy-stamp'> | undefined,
): Promise<void> {
  const { seenVersion, appliedVersion } = last?.data ?? unstamped
  if (isJournaled(cluster)) return
  const version = settings?.rev ?? DEFAULTS
  if (version === appliedVersion) return
  if (version !== seenVersion) return note(ports, cluster, list, { seenVersion: version })
  await ports.background.start({ job: 'restamp', ...list, ...tidyListStart, settling: version })
}

/**
 * Reports whether the cluster keeps a journal. While a journal is kept, entries have no TTL: only tidy deletes
 * them, DynamoDB does not.
 */
const isJournaled = (cluster: ClusterRead | undefined): boolean =>
  cluster !== undefined && recordKeepsJournal(cluster.record)

async function note(
  { store }: Ports,
  cluster: ClusterRead,
  { mount, list }: { mount: string; list: TidyList },
  news: Partial<TidyStamp>,
): Promise<void> {
  const place = key('tidy-stamp', mount, list)
  const [item] = await store.read([place])
  // if another run wins this commit, the next hourly run repeats the step
  await store.commit([replaceItem(place, item, { ...(item?.data ?? unstamped), ...news })], cluster)
}

const stampedFor = (item: Item<'access' | 'deny'>, settings: TidySettings) =>
  replaceItem(item, item as never, item.data, tidyTimes(item.data.expiresAt, settings))
