import { awsPorts } from '../../shared/adapters/aws/ports.ts'
import { journalHandler } from '../../shared/workers/handlers.ts'
import { workers } from '../../shared/workers/workers.ts'

export const handler = journalHandler(awsPorts('on-journal', workers['on-journal'].uses))
