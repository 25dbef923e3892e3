import { tokensGroup } from '../../shared/endpoints/tokens.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(tokensGroup)
