import { rekeyGroup } from '../../shared/endpoints/rekey.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(rekeyGroup)
