import { endpoint, type Group, policy } from '../api/endpoint.ts'
import { auditHash, auditHashFields } from '../system/audit-hash.ts'

export const auditGroup: Group = {
  name: 'audit',
  endpoints: [
    endpoint({
      method: 'POST',
      path: '/sys/audit-hash/:method_path',
      summary: 'How a value appears in the audit log',
      fields: auditHashFields,
      access: policy('update'),
      answers: 'data',
      mirrored: true,
      handle: auditHash,
    }),
  ],
}
