import { byPolicy, type Group, row } from '../api/endpoint.ts'
import { auditHash, auditHashFields, listAudit } from '../system/audit-hash.ts'

export const auditGroup: Group = {
  name: 'audit',
  endpoints: [
    row.get({
      path: '/sys/audit',
      summary: 'List audit devices: none, the log belongs to the deployment',
      access: byPolicy('read', { sudo: true }),
      mirrored: true,
      handle: listAudit,
    }),
    row.post({
      path: '/sys/audit-hash/:method_path',
      summary: 'How a value appears in the audit log',
      fields: auditHashFields,
      answers: 'data',
      mirrored: true,
      handle: auditHash,
    }),
  ],
}
