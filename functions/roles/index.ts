import { rolesGroup } from '../../shared/api/endpoints/roles.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(rolesGroup)
