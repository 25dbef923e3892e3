import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createJobHandler } from '../../shared/workers/handlers.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

export const handler = createJobHandler(createAwsPorts('on-job', workerDefinitions['on-job'].uses))
