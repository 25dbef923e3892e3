import { wrappingGroup } from '../../shared/endpoints/wrapping.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(wrappingGroup)
