import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createAttemptHandler } from '../../shared/workers/attempts.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

export const handler = createAttemptHandler(
  createAwsPorts('on-attempt', workerDefinitions['on-attempt'].uses),
)
