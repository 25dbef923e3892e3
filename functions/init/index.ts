import { initGroup } from '../../shared/endpoints/init.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(initGroup)
