import { generateRootGroup } from '../../shared/endpoints/generate-root.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(generateRootGroup)
