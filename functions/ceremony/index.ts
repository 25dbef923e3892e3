import { ceremonyGroup } from '../../shared/endpoints/ceremony.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(ceremonyGroup)
