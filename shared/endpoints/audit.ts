import { endpoint, type Group, policy } from '../api/endpoint.ts'
import { auditHash, auditHashFields, listAudit } from '../system/audit-hash.ts'

export const auditGroup: Group = {
  name: 'audit',
  endpoints: [
    endpoint({
      method: 'GET',
      path: '/sys/audit',
      summary: 'List audit devices: none, the log belongs to the deployment',
      access: policy('read', { sudo: true }),
      answers: 'data',
      mirrored: true,
      handle: listAudit,
    }),
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
