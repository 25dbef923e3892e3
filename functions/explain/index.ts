import { explainGroup } from '../../shared/endpoints/explain.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(explainGroup)
