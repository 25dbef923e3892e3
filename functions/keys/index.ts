import { keysGroup } from '../../shared/endpoints/keys.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(keysGroup)
