import type { Context } from 'aws-lambda'
import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { everyHour } from '../../shared/auth-method/tidy/schedule.ts'
import { jobRun } from '../../shared/jobs/job.ts'
import { workers } from '../../shared/jobs/workers.ts'

const ports = awsPorts('on-tidy-schedule', workers['on-tidy-schedule'].uses)

export const handler = (_event: unknown, context: Context): Promise<void> =>
  everyHour(jobRun(ports, ports.clock.now() + context.getRemainingTimeInMillis()))
