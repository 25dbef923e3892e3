import { rolesGroup } from '../../shared/endpoints/roles.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(rolesGroup)
