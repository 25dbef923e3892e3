import { policiesGroup } from '../../shared/endpoints/policies.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(policiesGroup)
