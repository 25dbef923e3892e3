import { explainGroup } from '../../shared/endpoints/explain.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(explainGroup)
