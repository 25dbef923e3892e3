import { auditGroup } from '../../shared/endpoints/audit.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(auditGroup)
