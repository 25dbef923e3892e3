import { generateRootGroup } from '../../shared/api/endpoints/generate-root.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(generateRootGroup)
