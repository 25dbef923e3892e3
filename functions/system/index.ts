import { consoleSettings } from '../../shared/adapters/aws/environment.ts'
import { systemGroup } from '../../shared/endpoints/system.ts'
import { allowReadsFrom } from '../../shared/http/cross-origin.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = allowReadsFrom(consoleSettings().origin, groupHandler(systemGroup))
