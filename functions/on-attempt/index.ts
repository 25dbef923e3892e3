import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { attemptHandler } from '../../shared/workers/attempts.ts'
import { workers } from '../../shared/workers/workers.ts'

export const handler = attemptHandler(createAwsPorts('on-attempt', workers['on-attempt'].uses))
