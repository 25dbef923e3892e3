import { tokensGroup } from '../../shared/endpoints/tokens.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(tokensGroup)
