import type { Context } from 'aws-lambda'
import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { runJob } from '../../shared/jobs/all.ts'
import { workers } from '../../shared/jobs/workers.ts'

const ports = awsPorts('on-job', workers['on-job'].uses)

/** Time to finish the step in hand and to start the next run, milliseconds. */
const REST_MS = 2000

export const handler = (event: unknown, context: Context): Promise<void> =>
  runJob(event, ports, ports.clock.now() + Math.max(0, context.getRemainingTimeInMillis() - REST_MS))
