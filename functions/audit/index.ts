import { auditGroup } from '../../shared/endpoints/audit.ts'
import { createGroupHandler } from '../../shared/http/lambda.ts'

export const handler = createGroupHandler(auditGroup)
