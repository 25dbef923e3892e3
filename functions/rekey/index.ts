import { rekeyGroup } from '../../shared/endpoints/rekey.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(rekeyGroup)
