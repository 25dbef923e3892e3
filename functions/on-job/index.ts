import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { jobHandler } from '../../shared/jobs/handlers.ts'
import { workers } from '../../shared/jobs/workers.ts'

export const handler = jobHandler(awsPorts('on-job', workers['on-job'].uses))
