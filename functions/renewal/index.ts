import { renewalGroup } from '../../shared/endpoints/renewal.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(renewalGroup)
