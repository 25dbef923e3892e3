import { loginGroup } from '../../shared/endpoints/login.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(loginGroup)
