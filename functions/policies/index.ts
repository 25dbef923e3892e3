import { policiesGroup } from '../../shared/endpoints/policies.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(policiesGroup)
