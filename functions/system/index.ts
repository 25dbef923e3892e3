import { systemGroup } from '../../shared/endpoints/system.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(systemGroup)
