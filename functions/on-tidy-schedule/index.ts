import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createHourlyHandler } from '../../shared/workers/handlers.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

export const handler = createHourlyHandler(
  createAwsPorts('on-tidy-schedule', workerDefinitions['on-tidy-schedule'].uses),
)
