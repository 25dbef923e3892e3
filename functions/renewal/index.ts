import { renewalGroup } from '../../shared/api/endpoints/renewal.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(renewalGroup)
