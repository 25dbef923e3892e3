import { wrappingGroup } from '../../shared/api/endpoints/wrapping.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(wrappingGroup)
