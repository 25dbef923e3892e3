import { configGroup } from '../../shared/endpoints/config.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(configGroup)
