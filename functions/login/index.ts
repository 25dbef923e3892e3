import { loginGroup } from '../../shared/api/endpoints/login.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(loginGroup)
