import { systemGroup } from '../../shared/api/endpoints/system.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(systemGroup)
