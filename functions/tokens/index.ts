import { tokensGroup } from '../../shared/api/endpoints/tokens.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(tokensGroup)
