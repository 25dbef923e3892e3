import * as v from 'valibot'
import { runOrganizationRound } from '../auth-method/organization/round.ts'
import { deleteOldAccessKey } from '../auth-method/rotate-root/finish.ts'
import { updateListTtls } from '../auth-method/tidy/restamp.ts'
import { tidyList } from '../auth-method/tidy/run.ts'
import { tidyLists } from '../auth-method/tidy/settings.ts'
import { createJobRun, type JobResult, type JobRun } from '../jobs/job.ts'
import { removeMountData } from '../mounts/remove.ts'
import type { Ports } from '../ports.ts'
import { backfillAllItems } from '../replication/primary/backfill.ts'
import { removeJournalMarks } from '../replication/primary/detach.ts'
import { runReencryptionJob } from '../replication/reencryption/run.ts'
import { tidyTokens } from '../tokens/tidy.ts'

const mount = v.pipe(v.string(), v.nonEmpty())
const list = v.picklist(tidyLists)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const scanPlace = v.object({
  segment: count,
  from: v.optional(v.object({ pk: v.string(), sk: v.string() })),
})

const pass = v.object({ seen: count, found: count, before: count })

/** Binds a job to the schema of its payload. */
const job = <S extends v.ObjectSchema<v.ObjectEntries, undefined>>(
  schema: S,
  work: (run: JobRun, payload: v.InferOutput<S>) => Promise<JobResult>,
) => ({ schema, work: work as (run: JobRun, payload: unknown) => Promise<JobResult> })

/** All background jobs, one line each. */
export const backgroundJobs = {
  tidy: job(v.object({ mount, list, buffer: count, runner: v.string() }), tidyList),
  restamp: job(
    v.object({ mount, list, partition: count, after: v.string(), settling: v.optional(v.string()) }),
    updateListTtls,
  ),
  'remove-mount': job(
    v.object({
      mount,
      from: v.optional(count),
      at: v.optional(scanPlace),
      found: v.optional(count),
      began: v.optional(count),
    }),
    removeMountData,
  ),
  organization: job(
    v.object({
      mount,
      runner: v.optional(v.string()),
      progress: v.optional(
        v.object({
          organization: v.string(),
          pages: v.array(
            v.object({
              what: v.picklist(['units', 'accounts']),
              parent: v.string(),
              path: v.string(),
              next: v.optional(v.string()),
            }),
          ),
          seen: v.string(),
          read: v.optional(count),
        }),
      ),
    }),
    runOrganizationRound,
  ),
  'drop-old-key': job(v.object({ mount }), deleteOldAccessKey),
  backfill: job(
    v.object({ treeId: v.string(), notBefore: count, at: v.optional(scanPlace), pass: v.optional(pass) }),
    backfillAllItems,
  ),
  detach: job(
    v.object({
      journalStart: v.string(),
      treeId: v.optional(v.string()),
      dropped: v.optional(count),
      notBefore: count,
      at: v.optional(scanPlace),
      pass: v.optional(pass),
    }),
    removeJournalMarks,
  ),
  reencrypt: job(v.object({}), runReencryptionJob),
  'token-tidy': job(v.object({ of: v.picklist(['token', 'child']), at: scanPlace }), tidyTokens),
} as const

export type BackgroundJobName = keyof typeof backgroundJobs

/**
 * Runs a job. If the job needs more time, the function starts it again with the place to continue from.
 * @param payload `{job: name, …}` as passed to `Background.start`
 * @param deadline epoch milliseconds
 */
export async function runBackgroundJob(payload: unknown, ports: Ports, deadline: number): Promise<void> {
  const { job: name } = v.parse(
    v.looseObject({ job: v.picklist(Object.keys(backgroundJobs) as BackgroundJobName[]) }),
    payload,
  )
  const { schema, work } = backgroundJobs[name]
  const { value: result, calls } = await ports.meter.measure(() =>
    work(createJobRun(ports, deadline), v.parse(schema, payload)),
  )
  ports.log.info('job', {
    job: name,
    result: result === 'done' ? 'done' : 'again',
    calls,
  })
  if (result !== 'done') await ports.background.start({ job: name, ...result.again })
}
