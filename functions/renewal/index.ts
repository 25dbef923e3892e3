import { renewalGroup } from '../../shared/endpoints/renewal.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(renewalGroup)
