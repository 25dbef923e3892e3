import { policiesGroup } from '../../shared/api/endpoints/policies.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(policiesGroup)
