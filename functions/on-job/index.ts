import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { jobHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

export const handler = jobHandler(createAwsPorts('on-job', workers['on-job'].uses))
