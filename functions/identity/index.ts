import { identityGroup } from '../../shared/api/endpoints/identity.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(identityGroup)
