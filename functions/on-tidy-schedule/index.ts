import { createAwsPorts } from '../../shared/adapters/aws/ports.ts'
import { hourlyHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

export const handler = hourlyHandler(createAwsPorts('on-tidy-schedule', workers['on-tidy-schedule'].uses))
