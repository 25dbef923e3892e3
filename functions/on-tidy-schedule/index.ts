import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { roundHandler } from '../../shared/jobs/handlers.ts'
import { workers } from '../../shared/jobs/workers.ts'

export const handler = roundHandler(awsPorts('on-tidy-schedule', workers['on-tidy-schedule'].uses))
