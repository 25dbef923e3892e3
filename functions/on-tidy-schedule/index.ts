import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { roundHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

export const handler = roundHandler(awsPorts('on-tidy-schedule', workers['on-tidy-schedule'].uses))
