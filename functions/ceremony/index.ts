import { ceremonyGroup } from '../../shared/endpoints/ceremony.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(ceremonyGroup)
