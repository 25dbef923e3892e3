import { carryAuditEntries } from '../../shared/adapters/aws/audit-carrier.ts'
import { readEnvironment } from '../../shared/adapters/aws/environment.ts'

const { auditGroup } = readEnvironment()

export const handler = (event: unknown): Promise<void> => carryAuditEntries(event, auditGroup)
