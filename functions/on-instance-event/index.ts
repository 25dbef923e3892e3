import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { createInstanceEventHandler } from '../../shared/auth-method/ends/record-end.ts'
import { workerDefinitions } from '../../shared/workers/workers.ts'

export const handler = createInstanceEventHandler(
  createAwsPorts('on-instance-event', workerDefinitions['on-instance-event'].uses),
)
