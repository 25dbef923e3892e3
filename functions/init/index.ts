import { initGroup } from '../../shared/endpoints/init.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(initGroup)
