import { configGroup } from '../../shared/endpoints/config.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(configGroup)
