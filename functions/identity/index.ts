import { identityGroup } from '../../shared/endpoints/identity.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(identityGroup)
