import { wrappingGroup } from '../../shared/endpoints/wrapping.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(wrappingGroup)
