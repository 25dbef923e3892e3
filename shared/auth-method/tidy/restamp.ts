import { eachOf, hasTime, type JobResult, type JobRun } from '../../jobs/job.ts'
import { replace } from '../../storage/changes.ts'
import { type Item, key, partitions } from '../../storage/kinds.ts'
import { defaultTidy, kindOfList, sweepTimes, type TidyList, type TidySettings } from './settings.ts'

export interface RestampJob {
  mount: string
  list: TidyList
  /** where an earlier run stopped: number of the partition, and the last name in it */
  partition: number
  after: string
}

const PAGE = 500

/**
 * Gives the entries of a list new times for the engine's own deletion, after its settings changed. Tidy itself
 * honours new settings at once; this is only the long stop behind it.
 */
export async function restamp(run: JobRun, job: RestampJob): Promise<JobResult> {
  const { store } = run.ports
  const [stored] = await store.read([key('tidy-settings', job.mount, job.list)])
  const settings = stored?.data ?? defaultTidy
  const { kind, pks } = partitions(kindOfList[job.list], job.mount)
  let { partition, after } = job
  for (; partition < pks.length; partition++, after = '') {
    for (let more = true; more; ) {
      const page = await store.list(
        { kind, pks: pks.slice(partition, partition + 1) },
        { limit: PAGE, ...(after === '' ? {} : { after }) },
      )
      const cluster = await run.cluster()
      if (!cluster) return 'done'
      await eachOf(page, async item => (await store.commit([stamped(item, settings)], cluster)) === 'done')
      after = page.at(-1)?.sk ?? after
      more = page.length === PAGE
      if (!hasTime(run)) return { again: { ...job, partition, after } }
    }
  }
  return 'done'
}

const stamped = (item: Item<'access' | 'deny'>, settings: TidySettings) =>
  replace(item, item as never, item.data, sweepTimes(item.data.expiresAt, settings))
