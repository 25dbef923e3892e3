import { explainGroup } from '../../shared/api/endpoints/explain.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(explainGroup)
