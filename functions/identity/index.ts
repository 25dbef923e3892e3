import { identityGroup } from '../../shared/endpoints/identity.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(identityGroup)
