import { keysGroup } from '../../shared/endpoints/keys.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(keysGroup)
