import { auditGroup } from '../../shared/api/endpoints/audit.ts'
import { groupHandler } from '../../shared/http/lambda.ts'

export const handler = groupHandler(auditGroup)
