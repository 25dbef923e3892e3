import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { attemptHandler } from '../../shared/workers/attempts.ts'
import { workers } from '../../shared/workers/workers.ts'

export const handler = attemptHandler(awsPorts('on-attempt', workers['on-attempt'].uses))
