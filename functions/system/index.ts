import { readConsoleSettings } from '../../shared/adapters/aws/environment.ts'
import { systemGroup } from '../../shared/endpoints/system.ts'
import { allowReadsFromOrigin } from '../../shared/http/cross-origin.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = allowReadsFromOrigin(readConsoleSettings().origin, createGroupHandler(systemGroup))
