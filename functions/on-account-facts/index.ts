import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createAccountFactsHandler } from '../../shared/workers/handlers.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

export const handler = createAccountFactsHandler(
  createAwsPorts('on-account-facts', workerDefinitions['on-account-facts'].uses),
)
