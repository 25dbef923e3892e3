import type { Context } from 'aws-lambda'
import { everyHour } from '../auth-method/tidy/schedule.ts'
import { jobRun } from '../jobs/job.ts'
import type { Ports } from '../ports.ts'
import { runJob } from './jobs.ts'

/** Time to finish the step in hand and to start the next run, milliseconds. */
const REST_MS = 2000

const endOf = ({ clock }: Ports, context: Context): number => clock.now() + context.getRemainingTimeInMillis()

/** Runs the background job that an event names. */
export const jobHandler =
  (ports: Ports) =>
  (event: unknown, context: Context): Promise<void> =>
    runJob(event, ports, Math.max(ports.clock.now(), endOf(ports, context) - REST_MS))

/** The hourly round. */
export const roundHandler =
  (ports: Ports) =>
  (_event: unknown, context: Context): Promise<void> =>
    everyHour(jobRun(ports, endOf(ports, context)))
