import { rolesGroup } from '../../shared/endpoints/roles.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(rolesGroup)
