import { generateRootGroup } from '../../shared/endpoints/generate-root.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(generateRootGroup)
